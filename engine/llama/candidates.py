"""The few tokens that can be chosen, found without looking closely at a whole vocabulary.

A row of logits goes in; an array of llama.cpp's comes out that holds the best tokens, and a few more. A chain
of samplers that begins with top-k chooses from it what it would choose from all, and need not copy, sort or
walk through 50,000 to 250,000 tokens. Knows nothing about samplers.

Imports NumPy, so it is imported late: a worker must not wait for it before it can load a model.
"""

from __future__ import annotations

import llama_cpp.llama_cpp as llama
import numpy as np
import numpy.typing as npt

_N_ROWS = 64
_MOST = 2048
"""Candidates; where more tokens are as good as the last of the best, llama.cpp looks at all itself."""
_TOKEN = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])  # llama_token_data


class Candidates:
    """Finds the best `n_best` of `n_vocab` tokens. The array it answers is valid until the next call."""

    def __init__(self, n_vocab: int, n_best: int) -> None:
        self._n_best = n_best
        self._n_columns = n_vocab // _N_ROWS
        self._tokens = np.zeros(_MOST, dtype=_TOKEN)
        data = self._tokens.ctypes.data_as(llama.llama_token_data_p)
        self._array = llama.llama_token_data_array(data=data, size=0, selected=-1, sorted=False)

    def best(self, logits: npt.NDArray[np.float32]) -> llama.llama_token_data_array | None:
        """Each token that is one of the best, and some others; None where they cannot be told apart."""
        if self._n_columns < self._n_best:
            return None
        # The vocabulary as a table, its end apart: of the largest logit in each column, as many as tokens are
        # wanted are not below `least`, so no token that is below it is wanted.
        n_table = self._n_columns * _N_ROWS
        table = logits[:n_table].reshape(_N_ROWS, self._n_columns)
        tops = table.max(axis=0)
        least = np.partition(tops, -self._n_best)[-self._n_best]
        columns = np.flatnonzero(tops >= least)
        rows, places = np.nonzero(table[:, columns] >= least)
        ends = np.flatnonzero(logits[n_table:] >= least) + n_table
        ids = np.concatenate((rows * self._n_columns + columns[places], ends))
        if not self._n_best <= len(ids) <= _MOST:  # many equal ones, or values that are not numbers
            return None
        tokens = self._tokens[: len(ids)]
        tokens["id"], tokens["logit"], tokens["p"] = ids, logits[ids], 0.0
        array = self._array
        array.size, array.selected, array.sorted = len(ids), -1, False
        return array
