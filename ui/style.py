"""The style sheet. The page is light or dark like the reader's system. Colour alone never carries meaning."""

FOR, AGAINST, OTHER = "#3f78b0", "#b07c26", "#85808f"
"""The colours of sides that support, oppose or do neither. The side's label always stands next to the colour. Each
colour contrasts with the light and the dark background."""
_LINE = "color-mix(in srgb, currentColor 18%, transparent)"
_LINK = "light-dark(#1f4e79, #8fbfe8)"
_GROUND = "light-dark(#fdfcf9, #16181c)"

STYLE = f"""<style>
.block-container {{ max-width: 80rem; padding-top: 4.2rem; }}
.block-container, [data-testid="stBottomBlockContainer"] {{ padding-inline: clamp(1rem, 5vw, 5rem); }}
h1 {{ font-size: clamp(1.5rem, 1.2rem + 1.3vw, 1.9rem) !important; line-height: 1.25 !important; text-wrap: balance; }}
.stMain h2 {{ font-size: 1.35rem !important; padding: 1rem 0 0; }}
.stMain h4, .sm-source :is(h2, h3) {{ font-size: 1rem !important; padding: 0 !important; margin: 0; }}
.stMain :is(h1, h2, h4, p, li, button) {{ overflow-wrap: anywhere; }}
[class*="st-key-card-"] {{ border-top: 4px solid {OTHER} !important;
  &[class*="-supports-"] {{ border-top-color: {FOR} !important; }}
  &[class*="-opposes-"] {{ border-top-color: {AGAINST} !important; }} }}
[class*="st-key-sides-"] {{ display: grid; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }}
[data-testid="stBottomBlockContainer"] {{ padding-block: .6rem; }}
.stCode > div:last-child {{ opacity: 1; visibility: visible; }}
.sm-name {{ font-size: 1.25rem; font-weight: 600; margin: 0; }}
.sm-lead {{ font-size: 1.15rem; max-width: 46rem; }}
.sm-thesis {{ font-size: 1.15rem; font-weight: 600; line-height: 1.35; margin: .25rem 0 0; }}
.sm-claim {{ margin: 0; line-height: 1.5; &.case::before {{ content: "•"; margin-right: .5em; opacity: .6; }} }}
.sm-reason {{ font-size: .8rem; opacity: .88; &.why::after {{ content: ":"; }} }}
[class*="st-key-claim-"]:focus {{ box-shadow: 0 0 0 .4rem {_GROUND}, 0 0 0 .5rem {_LINK}; }}
.sm-apart {{ margin-top: .8rem; }}
.sm-small {{ font-size: .85rem; margin: .2rem 0; opacity: .88; }}
.sm-alert {{ border-left: 4px solid #b08a2e; padding: .6rem .9rem; border-radius: .3rem;
  background: color-mix(in srgb, #b08a2e 14%, transparent); }}
.sm-error {{ border-color: #a8503c; background: color-mix(in srgb, #a8503c 14%, transparent); }}
.stMain .stHtml h1 {{ padding: 0; margin: 0; }}
.sm-source :is(p, blockquote) {{ white-space: pre-line; }}
blockquote, .sm-sample, .sm-side {{ border-left: 3px solid {_LINE}; padding: .1rem 0 .1rem .8rem; }}
.sm-source blockquote {{ margin: .4rem 0; font-size: .95rem; line-height: 1.45; }}
.stColumn:has(.st-key-source) > .stVerticalBlock {{ height: 100%; }}
:has(> .st-key-source) {{ position: sticky; top: 4.2rem; }}
.st-key-source {{ max-height: calc(100vh - 9rem); overflow-y: auto; background: {_GROUND};
  > :first-child {{ position: sticky; z-index: 1; top: -1rem; margin-top: -1rem; padding-top: 1rem;
    background: inherit; }} }}
:is([class*="st-key-cite-"], [class*="st-key-move-"]) button {{ padding: 0 .3rem; min-height: 1.6rem;
  min-width: 1.6rem; align-items: start; }}
[class*="st-key-cite-"] button, .stMain .stButton button[kind="tertiary"]:enabled, .sm-source a,
.stMain .stDownloadButton button, .stPopover button[aria-expanded="true"] {{ color: {_LINK} !important; }}
kbd {{ opacity: 1 !important; }}
button[data-testid*="primary"] p {{ color: light-dark(#ffffff, #10141a); }}
.sm-sample {{ max-width: 46rem; p {{ margin: .15rem 0; }} }}
mark {{ background: #f6e2a6; color: #1d2430; padding: 0 .1em; }}
[data-testid="InputInstructions"], [data-testid="stFileUploaderDropzoneInstructions"] {{ display: none; }}
.stFileChip [role="alert"] {{ all: unset; font-size: .8rem; }}
.sm-stages {{ display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; list-style: none;
  &, li {{ padding: 0 !important; margin: 0 !important; }} }}
.sm-open {{ opacity: .75; }}
.sm-now {{ font-weight: 600; }}
.sm-side {{ margin: 0 0 .8rem; }}
.sm-side :is(p, ul), .sm-source .sm-small {{ margin: 0; }}
.sm-row {{ display: grid; grid-template-columns: 3.2rem 1fr; gap: .2rem .8rem; padding: .35rem 0;
  border-bottom: 1px solid {_LINE}; font-size: .95rem; span {{ grid-column: 2; overflow-wrap: anywhere; }} }}
[class*="st-key-more-"] button {{ overflow: clip;
  p {{ display: block; width: 1.2rem; overflow: hidden; text-overflow: clip !important; }}
  p::before {{ content: "⋯"; font-size: 1.1rem; margin-right: 2rem; }}
  [data-testid="stIconMaterial"] {{ display: none; }} }}
:is([class*="st-key-answered-"], .stSidebar [class*="st-key-open-"]) :is(button, button *) {{
  justify-content: start; text-align: left; }}
@media (min-width: 1400px) {{ .block-container:has(.st-key-source) {{ padding-right: 1rem; }} }}
@media (max-width: 1399px) {{
  .stColumn:has(.st-key-source) {{ position: fixed; inset: auto 0 3.7rem auto; width: min(100%, 45rem);
    z-index: 999993; }}
  .st-key-source {{ max-height: 50vh; padding: .8rem 1rem; box-shadow: 0 -6px 24px rgb(0 0 0 / .25); }}
  .stMain:has(.st-key-source) .block-container {{ padding-bottom: 60vh; }}
}}
@media screen and (max-width: 1099px) {{ [class*="st-key-sides-"] {{ grid-template-columns: 100%; }} }}
@media (max-width: 1099px), (pointer: coarse) {{
  :is(button, summary, input, [role="option"], [role="menuitem"], label:has([type="checkbox"]), .sm-source a) {{
    min-height: 44px !important; min-width: 44px !important; }}
  kbd {{ display: none !important; }}
}}
@media print {{
  .stSidebar, .stAppHeader, .stBottom, .stDownloadButton, .stPopover,
  .stExpander:not([class*="st-key-folded-"] *), [class*="st-key-undo-"],
  .stTooltipIcon, [class*="st-key-move-"], .st-key-suggested, [class*="st-key-acts-"], .st-key-end, .st-key-thread,
  .stColumn:has(.st-key-source) {{ display: none !important; }}
  .stApp, .stMain, .stAppViewContainer {{ position: static !important; overflow: visible !important;
    height: auto !important; }}
  [class*="st-key-folded-"] details::details-content {{ content-visibility: visible; block-size: auto; }}
  html, body {{ background: #fff !important; font-size: 11px !important; }}
  .stVerticalBlock {{ gap: .5rem !important; }}
  .stMain h2 {{ font-size: 1.1rem !important; padding-top: .3rem; line-height: 1.25 !important; }}
  .stHtml p {{ line-height: 1.35 !important; }}
  [class*="st-key-sides-"] {{ grid-template-columns: 1fr 1fr; column-gap: 1.2rem !important; }}
  .stApp, .stApp * {{ background: transparent !important; color: #000 !important; }}
  .block-container {{ max-width: none; padding: 0; }}
  .stHtml, .stHorizontalBlock {{ break-inside: avoid; }}
}}
</style>"""
