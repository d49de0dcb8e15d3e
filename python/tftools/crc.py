"""CRC-32C (Castagnoli, RFC 3720) with numpy."""
from typing import Any, List, Union

import numpy as np

_LANE = 4096  # bytes; as many lanes as the data has are computed side by side


def _past_bytes(state: Any, n: int) -> Any:
    """States after n bytes of zeros."""
    for _ in range(8 * n):
        state = (state >> 1) ^ np.where(state & 1, np.uint32(0x82F63B78), np.uint32(0))
    return state


_PAIRS = _past_bytes(np.arange(1 << 16, dtype=np.uint32), 2)  # what two bytes become
_BYTES: List[int] = _past_bytes(np.arange(256, dtype=np.uint32), 1).tolist()


def _past_lane() -> List[List[int]]:
    """What each byte of the state before a lane becomes in it."""
    states = np.arange(256, dtype=np.uint32) << np.array([[0], [8], [16], [24]], np.uint32)
    for _ in range(_LANE // 2):
        states = (states >> 16) ^ _PAIRS[states & 0xFFFF]
    table: List[List[int]] = states.tolist()
    return table


_PAST = _past_lane()


def crc32c(data: Union[bytes, bytearray, memoryview], crc: int = 0) -> int:
    """The CRC of data that follow others, whose CRC is given."""
    c = crc ^ 0xFFFFFFFF
    lanes = len(data) // _LANE
    if lanes > 0:
        pairs = np.frombuffer(data, "<u2", lanes * _LANE // 2).reshape(lanes, _LANE // 2)
        states = np.zeros(lanes, np.uint32)
        for column in np.ascontiguousarray(pairs.T):
            states = (states >> 16) ^ _PAIRS[(states ^ column) & 0xFFFF]
        for state in states.tolist():
            c = (_PAST[0][c & 0xFF] ^ _PAST[1][c >> 8 & 0xFF] ^ _PAST[2][c >> 16 & 0xFF]
                 ^ _PAST[3][c >> 24] ^ state)
    for byte in data[lanes * _LANE:]:
        c = c >> 8 ^ _BYTES[(c ^ byte) & 0xFF]
    return c ^ 0xFFFFFFFF


class Running:
    """The CRC of bytes that come in pieces, which are fastest together."""

    def __init__(self) -> None:
        self._crc, self._new = 0, bytearray()

    def add(self, data: bytes) -> None:
        self._new += data
        if len(self._new) > 1 << 20:
            self.value()

    def value(self) -> int:
        self._crc = crc32c(self._new, self._crc)
        self._new.clear()
        return self._crc
