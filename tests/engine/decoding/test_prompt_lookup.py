"""What the index over a chat's own tokens proposes, against a search through all of them."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from engine.decoding.prompt_lookup import PromptLookup


def lookup_of(ids: list[int], n_first: int = 0) -> PromptLookup:
    """An index that read the first tokens at once and the others one by one."""
    lookup, known = PromptLookup(len(ids)), array("i", ids[:n_first])
    while not lookup.read(known):
        pass
    for token in ids[n_first:]:
        known.append(token)
        lookup.read(known)
    return lookup


def longest_before(ids: list[int]) -> int:
    """How many of the last tokens stood anywhere before, found the slow way."""
    return max(
        (n for n in range(1, len(ids)) for i in range(n, len(ids)) if ids[i - n : i] == ids[-n:]), default=0
    )


def test_a_copy_is_followed_where_it_began() -> None:
    source = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    lookup = lookup_of([*source, 50, 51, 2, 3, 4])
    assert lookup.n_matched == 3
    assert lookup.draft([*source, 50, 51, 2, 3, 4], 4) == [5, 6, 7, 8]


def test_the_longest_match_wins_over_a_newer_one() -> None:
    ids = [1, 2, 3, 4, 70, 9, 3, 4, 80, 11, 12, 1, 2, 3, 4]
    assert lookup_of(ids, len(ids)).draft(ids, 1) == [70]


def test_among_equal_matches_the_newest_wins() -> None:
    ids = [1, 2, 70, 5, 1, 2, 80, 6, 1, 2]
    assert lookup_of(ids, len(ids)).draft(ids, 1) == [80]


def test_a_match_grows_as_it_goes_on_and_ends_with_the_first_other_token() -> None:
    source = list(range(100))
    copied = lookup_of([*source, 200, *source[:40]], 101)
    assert copied.n_matched == 40
    parted = lookup_of([*source, 200, *source[:40], 999], 101)
    assert (parted.n_matched, parted.draft([*source, 200, *source[:40], 999], 5)) == (0, [])


def test_what_repeats_itself_goes_on_repeating_itself() -> None:
    ids = [7, 1, 2, 3, 1, 2, 3, 1, 2]
    assert lookup_of(ids).draft(ids, 7) == [3, 1, 2, 3, 1, 2, 3]


def test_new_text_has_no_draft() -> None:
    assert lookup_of(list(range(50))).draft(list(range(50)), 5) == []
    assert lookup_of([]).draft([], 5) == []


def test_a_long_chat_is_read_in_parts() -> None:
    ids = array("i", range(5000))
    lookup = PromptLookup(len(ids))
    assert [lookup.read(ids) for _ in range(3)] == [False, False, True]
    ids.extend([10, 11, 12])
    assert lookup.read(ids) and lookup.draft(ids, 2) == [13, 14]


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(0, 60))
def test_a_match_is_always_real(ids: list[int], n_first: int) -> None:
    lookup = lookup_of(ids, n_first)
    draft = lookup.draft(ids, 3)
    assert bool(draft) == bool(lookup.n_matched)
    assert lookup.n_matched <= longest_before(ids)
    if longest_before(ids) >= 2:  # the tables are large enough here for every pair
        assert lookup.n_matched >= 2
    if draft:
        n = lookup.n_matched
        places = [i for i in range(n, len(ids)) if ids[i - n : i] == ids[-n:]]
        assert any(ids[i : i + 3] == draft[: len(ids) - i] for i in places)
