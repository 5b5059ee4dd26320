"""How the page looks: one style sheet, calm and typographic. Colour helps and never says anything alone."""

INK = "#1d2430"
LINK = "#1f4e79"
"""Of what can be clicked within a text; the theme's link colour."""
FOR, AGAINST, OTHER = "#2b5c8a", "#9a6a1f", "#6b6577"
"""The colours of a side that supports, opposes or does neither; each stands beside its word."""
STANCES = {"supports": FOR, "opposes": AGAINST, "other": OTHER}

STYLE = f"""<style>
.block-container {{ max-width: 76rem; padding-top: 4.2rem; }}
h1 {{ font-size: 1.9rem !important; line-height: 1.25 !important; text-wrap: balance; }}
.stMain h2 {{ font-size: 1.35rem !important; padding: 1rem 0 0; }}
.stMain h4 {{ font-size: 1rem !important; padding: 0; }}
.stMain h1, .stMain h4, .stMain p, .stMain li, .stMain button {{ overflow-wrap: anywhere; }}
[class*="st-key-card-supports"] {{ border-top: 4px solid {FOR} !important; }}
[class*="st-key-card-opposes"] {{ border-top: 4px solid {AGAINST} !important; }}
[class*="st-key-card-other"] {{ border-top: 4px solid {OTHER} !important; }}
.sm-head {{ display: flex; justify-content: space-between; gap: 1rem; font-size: .85rem; opacity: .85; }}
.sm-head b {{ letter-spacing: .02em; }}
.sm-thesis {{ font-size: 1.15rem; font-weight: 600; line-height: 1.35; margin: .25rem 0 0; }}
.sm-claim {{ margin: 0; line-height: 1.5; }}
.sm-claim.case::before {{ content: "•"; margin-right: .5em; opacity: .6; }}
.sm-claim.leaning {{ opacity: .8; font-size: .95rem; padding-left: .8rem; border-left: 2px dashed #cfc6b2; }}
.sm-apart {{ margin-top: .8rem; }}
.sm-small {{ font-size: .85rem; opacity: .85; margin: .2rem 0; }}
.sm-alert {{ border-left: 4px solid #b08a2e; background: #f6efdc; padding: .6rem .9rem; border-radius: .3rem; }}
.sm-error {{ border-color: #8b4a3b; background: #f5e7e2; }}
.stMain .stHtml h1 {{ padding: 0; margin: 0; }}
.sm-source h4 {{ font-size: 1rem; margin: 0; padding: 0; }}
.sm-source .sm-small {{ margin: 0; }}
.sm-source blockquote {{ margin: .4rem 0; padding-left: .8rem; border-left: 3px solid #ddd6c6; font-size: .95rem;
  line-height: 1.4; }}
[class*="st-key-cite-"] button {{ padding: 0 .25rem; min-height: 1.6rem; }}
[class*="st-key-cite-"] button, .stMain .stButton button[kind="tertiary"]:enabled,
.stMain .stDownloadButton button {{ color: {LINK} !important; }}
[class*="st-key-cite-"] button [data-testid="stIconMaterial"],
[class*="st-key-more-"] button [data-testid="stIconMaterial"] {{ display: none; }}
[class*="st-key-cite-"] button > div > div:last-child:not(:only-child) {{ display: none; }}
.sm-group {{ border-left: 3px solid #ddd6c6; padding-left: .8rem; margin: 0 0 1rem; }}
.sm-group h4 {{ margin: .5rem 0 .1rem; font-weight: 600; }}
.sm-group ul {{ margin: .2rem 0 0 1.1rem; padding: 0; font-size: .9rem; }}
.sm-group li {{ overflow-wrap: anywhere; }}
mark {{ background: #f6e2a6; color: inherit; padding: 0 .1em; }}
.sm-stages {{ display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; padding: 0 !important; margin: .4rem 0 1rem !important;
  list-style: none; }}
.sm-stages li {{ margin: 0 !important; }}
.sm-open {{ opacity: .7; }}
.sm-now {{ font-weight: 600; }}
.sm-side {{ border-left: 3px solid #ddd6c6; padding: .1rem 0 .1rem .8rem; margin: 0 0 .8rem; }}
.sm-side p, .sm-side ul {{ margin: 0; }}
.sm-row {{ display: grid; grid-template-columns: 3.2rem 8rem 1fr; gap: .2rem .8rem; padding: .35rem 0;
  border-bottom: 1px solid #eee8db; font-size: .95rem; }}
.sm-row span {{ overflow-wrap: anywhere; }}
[data-testid="stSidebar"] [class*="st-key-open-"] button {{ justify-content: flex-start; }}
[data-testid="stSidebar"] [class*="st-key-open-"] button > div {{ justify-content: flex-start; width: 100%; }}
[data-testid="stPopoverBody"] {{ width: min(34rem, 94vw); min-width: 0; max-height: 70vh; overflow-y: auto; }}
@media (max-width: 640px) {{
  .block-container {{ padding-left: 1rem; padding-right: 1rem; }}
  h1 {{ font-size: 1.5rem !important; }}
  .sm-row {{ grid-template-columns: 3.2rem 1fr; }}
  .sm-row span:last-child {{ grid-column: 1 / -1; }}
}}
</style>"""
