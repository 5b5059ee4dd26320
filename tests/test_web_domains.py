"""The lists of sites: the shipped ones, a user's own, and odd addresses."""

from pathlib import Path

import pytest

from tools.errors import SettingsError
from tools.passages import SourceKind
from tools.web.domains import DomainLists

LISTS = DomainLists.load()


def own(tmp_path: Path, text: str) -> DomainLists:
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    return DomainLists.load(path)


# --- the shipped lists


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://www.cdc.gov/flu", "government"),
        ("https://news.mit.edu/2020", "academic"),
        ("https://www.heritage.org/x", "advocacy"),
        ("https://www.nationalreview.com/x", "news"),
        ("https://example.org/forum/1", "forum"),
        ("http://[::1/", "unknown"),
    ],
)
def test_the_kind_of_a_source(url: str, kind: SourceKind) -> None:
    assert LISTS.kind_of(url) == kind


@pytest.mark.parametrize(
    ("url", "site_name", "publisher"),
    [
        ("https://news.bbc.co.uk/x", "News Front Page", "BBC"),
        ("https://www.example.org/x", "  The  Example Post ", "The Example Post, example.org"),
        ("https://news.example.net/x", "BBC News", "BBC News, example.net"),
        ("https://someone.substack.com/p/x", "", "someone.substack.com"),
    ],
)
def test_the_publisher(url: str, site_name: str, publisher: str) -> None:
    assert LISTS.publisher_of(url, site_name) == publisher


# --- a user's own lists


def test_own_lists_replace_and_own_kinds_and_names_are_added(tmp_path: Path) -> None:
    lists = own(
        tmp_path,
        """
        allow = ["Example.org", "*.gov", "www.bücher.example"]
        block = ["bad.example.org"]
        [kinds]
        advocacy = ["bbc.co.uk"]
        [publishers]
        "example.org" = " The Example "
        """,
    )
    assert lists.is_allowed("https://sub.example.org/x")
    assert lists.is_allowed("https://bücher.example/")
    assert lists.is_allowed("https://nih.gov")
    assert not lists.is_allowed("https://bad.example.org/x")
    assert not lists.is_allowed("https://www.reuters.com/x")
    assert "bit.ly" not in lists.block
    assert lists.prefer == LISTS.prefer
    assert lists.kind_of("https://bbc.co.uk/x") == "advocacy"
    assert lists.kind_of("https://reuters.com/x") == "news"
    assert lists.publisher_of("https://example.org/x") == "The Example"
    assert lists.publisher_of("https://bbc.co.uk/x") == "BBC"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('allow = [\n  "bbc.com",\n  "https://bbc.com/news",\n]', "allow.1 'https://bbc.com/news': it is no domain"),
        ('block = ["localhost"]', "block.0 'localhost': it is no domain"),
        ("prefer = [5]", "prefer.0: "),
        ('[kinds]\npolitics = ["bbc.com"]', "kinds.politics 'politics': .*government"),
        ('[publishers]\n"bbc.com" = 3', r"publishers.bbc.com: "),
        ('deny = ["bbc.com"]', "deny: Extra inputs"),
        ('allow = ["bbc.com" "who.int"]', "cannot be read: .*line 1"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says) as caught:
        own(tmp_path, text)
    assert "mine.toml" in str(caught.value)
