#!/usr/bin/python3
"""A unigram vocabulary of SentencePiece with pieces within pieces: nested_vocabulary.py N >FILE

a, aa, aaa, ... up to N characters. Of a line of a's, up to N pieces end at each character."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../faults"))
from vocabularies import model, piece  # noqa: E402

pieces = [piece(b"a" * n, -1 - n / 10) for n in range(1, int(sys.argv[1]) + 1)]
sys.stdout.buffer.write(model(pieces))
