"""Verification: after a decode, the reply takes the tokens that the model says, drafted ones among them.

Each token is sampled from its own logits by the reply's own sampler, one after the other, just as in plain
decoding; as long as it is what was drafted, the logits after it are there already. So the text does not
depend on drafts at all, and neither does the ledger. Cells of drafts that were wrong are given back.
Knows nothing about who drafts, or when.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Many
from dataclasses import dataclass

from engine.decoding.share import Share
from engine.llama.context import Context
from engine.llama.sampler import Sampler


@dataclass(frozen=True, slots=True)
class Taken:
    """What a reply took of one decode: `n_tokens` were sampled, and say `text` for now.

    `n_accepted` of the draft's `n_judged` tokens were right; those behind the reply's end were not judged.
    `is_prompt`: the share was a part of the prompt; tokens after it are the reply's first. `has_kept_cells`
    is False where the cache could not give back the draft alone, and all is evaluated again.
    """

    share: Share
    n_tokens: int = 0
    text: str = ""
    n_judged: int = 0
    n_accepted: int = 0
    is_prompt: bool = False
    has_kept_cells: bool = True


def sampled(sampler: Sampler, context: Context, output: int, draft: Many[int]) -> Iterator[int]:
    """The tokens that follow the batch entry `output`, whose `draft` stands in the entries behind it.

    Ends with the first token that is not the drafted one, or with the one after the whole draft.
    """
    for index, drafted in enumerate((*draft, None), output):
        token = sampler.sample(context, index)
        yield token
        if token != drafted:
            return


def take_tokens(share: Share, context: Context) -> Taken:
    """Book the share, and let its reply take what the model says after it."""
    share.book()
    sequence, reply = share.sequence, share.sequence.reply
    if reply is None:
        return Taken(share)
    is_prompt = not reply.decoding
    if share.output is None:
        return Taken(share, is_prompt=is_prompt)
    ledger, text, n_tokens, n_accepted = sequence.ledger, "", 0, 0
    for token in sampled(reply.sampler, context, share.output, share.draft):
        if n_tokens:  # the one before is what was drafted, and so it is in the cache
            ledger.mark_decoded(len(ledger) - 1, len(ledger))
            n_accepted += 1
        n_tokens += 1
        generated = reply.generated
        text += reply.take(token)
        sequence.pending = []
        if reply.generated > generated:
            ledger.append([token])
            sequence.pending = [(len(ledger) - 1, len(ledger))]
        if reply.reason:
            break
    n_judged = n_accepted if reply.reason else min(len(share.draft), n_tokens)
    has_kept_cells = n_accepted == len(share.draft) or _give_back(share, context)
    return Taken(share, n_tokens, text, n_judged, n_accepted, is_prompt, has_kept_cells)


def _give_back(share: Share, context: Context) -> bool:
    """Remove the cells of the draft that are not in the ledger. False: all has to be evaluated again."""
    sequence = share.sequence
    end = sequence.ledger.next_position
    removed = context.remove(sequence.seq_id, end)
    if removed and context.position_range(sequence.seq_id)[1] == end - 1:
        return True
    sequence.evict_and_evaluate_again(())
    return False
