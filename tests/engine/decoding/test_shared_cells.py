"""Cells that several ledgers have are counted once, whatever becomes of each of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.decoding.ledger import Ledger
from engine.decoding.shared_cells import n_cells, n_shared


def read(n_tokens: int) -> Ledger:
    ledger = Ledger()
    ledger.append(range(n_tokens))
    ledger.mark_decoded(0, n_tokens)
    return ledger


def grow(ledger: Ledger, n_tokens: int) -> None:
    end = len(ledger)
    ledger.append([7] * n_tokens)
    ledger.mark_decoded(end, end + n_tokens)


def test_fork_costs_nothing_until_it_grows() -> None:
    first = read(100)
    others = [first.fork() for _ in range(3)]
    assert n_cells([first, *others]) == 100
    for other in others:
        grow(other, 10)
    grow(first, 5)
    assert n_cells([first, *others]) == 135
    assert n_shared(others[0], [first, *others[1:]]) == 100


def test_chats_that_say_the_same_by_chance_share_nothing() -> None:
    assert n_cells([read(10), read(10)]) == 20 and n_shared(read(10), [read(10)]) == 0


def test_what_one_evicts_stays_while_another_has_it() -> None:
    first = read(100)
    other = first.fork()
    first.evict(10, 50)
    assert n_cells([first, other]) == 100 and n_shared(other, [first]) == 60
    other.evict(10, 50)
    assert n_cells([first, other]) == 60


def test_offsets_that_are_decoded_again_are_other_cells() -> None:
    first = read(100)
    other = first.fork()
    first.truncate(80)
    grow(first, 20)
    assert n_cells([first, other]) == 120 and n_shared(first, [other]) == 80


def test_lost_cells_are_not_those_that_come_in_their_place() -> None:
    first = read(50)
    other = first.fork()
    first.lose_cells()
    first.mark_decoded(0, 50)
    assert n_cells([first, other]) == 100


def test_own_cells_are_shared_no_more() -> None:
    first = read(50)
    other = first.fork()
    other.own()
    assert n_cells([first, other]) == 100


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("fgte"), st.integers(1, 30)), max_size=40))
def test_count_is_that_of_a_cache_of_numbered_cells(steps: list[tuple[int, str, int]]) -> None:
    """Each cell has a number of its own in the model of this test: offset -> number, for each ledger."""
    ledgers, cells = [read(40)], [{offset: offset for offset in range(40)}]
    n_made = 40
    for which, what, size in steps:
        index = which % len(ledgers)
        ledger, own = ledgers[index], cells[index]
        if what == "f" and len(ledgers) < 4:
            ledgers.append(ledger.fork())
            cells.append(dict(own))
        elif what == "g":
            start = max(ledger.end_decoded, len(ledger))
            grow(ledger, size)
            own.update({start + i: n_made + i for i in range(size)})
            n_made += size
        elif what == "t":
            length = max(1, len(ledger) - size)
            ledger.truncate(length)
            cells[index] = {offset: cell for offset, cell in own.items() if offset < length}
        elif what == "e":
            ledger.evict(5, 5 + size)
            cells[index] = {offset: cell for offset, cell in own.items() if not 5 <= offset < 5 + size}
        assert n_cells(ledgers) == len({cell for own in cells for cell in own.values()})
