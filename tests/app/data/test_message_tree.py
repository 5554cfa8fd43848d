"""Branches and versions, from ids and parents alone."""

from hypothesis import given
from hypothesis import strategies as st

from app.data.message_tree import MessageTree

Row = tuple[int, int | None, bool]

#  1 - 2 - 3 - 4 (removed) - 5
#    \     \ 6 (removed)
#     7 - 8
TREE = MessageTree(
    [
        (1, None, False),
        (2, 1, False),
        (3, 2, False),
        (4, 3, True),
        (5, 4, False),
        (6, 2, True),
        (7, 1, False),
        (8, 7, False),
    ]
)


def test_a_branch_leads_from_the_first_message_to_its_head_without_what_was_removed() -> None:
    assert TREE.branch(5) == [1, 2, 3, 5]
    assert TREE.branch(4) == [1, 2, 3]
    assert TREE.branch(8) == [1, 7, 8]
    assert TREE.branch(None) == TREE.branch(99) == []


def test_versions_follow_the_same_message_and_were_not_removed() -> None:
    assert TREE.versions(1) == [2, 7]
    assert TREE.versions(2) == [3]
    assert TREE.versions(None) == [1]
    assert TREE.versions(8) == TREE.versions(99) == []


def test_the_newest_below_is_on_the_same_branch_and_was_not_removed() -> None:
    assert TREE.newest_below(1) == 8
    assert TREE.newest_below(2) == 5
    assert TREE.newest_below(6) == 6


def test_without_what_was_removed_the_rest_stays_connected() -> None:
    tree = TREE.without_removed()
    assert tree.ids() == [1, 2, 3, 5, 7, 8]
    assert (tree.parent(5), tree.parent(8), tree.parent(1)) == (3, 7, None)


rows = st.dictionaries(
    st.integers(1, 12), st.tuples(st.none() | st.integers(-2, 14), st.booleans()), max_size=12
).map(lambda drawn: [(message_id, *rest) for message_id, rest in drawn.items()])


@given(rows=rows)
def test_no_rows_lead_in_a_circle_or_out_of_the_tree(rows: list[Row]) -> None:
    tree = MessageTree(rows)
    removed = {message_id for message_id, _, is_removed in rows if is_removed}
    for message_id, _, _ in rows:
        branch = tree.branch(message_id)
        assert branch == sorted(set(branch) - removed)
        newest = tree.newest_below(message_id)
        assert newest == message_id or newest not in removed
        assert [other for other in branch if other < message_id] == [
            other for other in tree.branch(newest) if other < message_id
        ]


@given(rows=rows)
def test_every_message_that_was_not_removed_is_a_version_and_stays_in_its_branch(rows: list[Row]) -> None:
    tree = MessageTree(rows)
    kept = tree.without_removed()
    for message_id, _, is_removed in rows:
        if not is_removed:
            assert message_id in tree.versions(tree.parent(message_id))
            assert kept.branch(message_id) == tree.branch(message_id)
