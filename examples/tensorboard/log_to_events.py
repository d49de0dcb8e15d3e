#!/usr/bin/env python3
"""log_to_events.py - the log of tf-train as event files of TensorBoard.

    log_to_events.py DIR <run/log.jsonl

Writes DIR/train and DIR/valid, two runs whose curves TensorBoard draws in one chart. Each line of
the log is written as soon as it is read. Needs nothing but Python.
"""
import calendar
import json
import os
import struct
import sys
import time

# TensorBoard reads TFRecords (a length, its CRC, the data, its CRC) of protocol buffers:
# https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto
# and summary.proto. Numbers of fields are those of these files.


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A field of a message: an int as a varint, a float as a double, str and bytes with a length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def scalar(tag, x):
    """A Summary.Value; simple_value is a float of 32 bits, infinite if x is too large for one."""
    try:
        bits = struct.pack("<f", x)
    except OverflowError:
        bits = struct.pack("<f", float("inf") if x > 0 else float("-inf"))
    return field(1, tag) + varint(2 << 3 | 5) + bits


def text(tag, markdown):
    """A Summary.Value for the text dashboard: a tensor of one string (DT_STRING is 7)."""
    tensor = field(1, 7) + field(2, field(2, field(1, 1))) + field(8, markdown)
    metadata = field(1, field(1, "text"))
    return field(1, tag) + field(8, tensor) + field(9, metadata)


def events_file(directory, run):
    return os.path.join(directory, run, "events.out.tfevents.tf-train")


class Events:
    def __init__(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.file = open(path, "wb", buffering=0)
        self.record(field(1, 0.0) + field(3, "brain.Event:2"))

    def record(self, data):
        length = struct.pack("<Q", len(data))
        self.file.write(length + masked_crc32c(length) + data + masked_crc32c(data))

    def summary(self, when, step, values):
        if values:
            summary = b"".join(field(1, v) for v in values)
            self.record(field(1, when) + field(2, step) + field(5, summary))


def main(directory):
    runs = {"step": "train", "valid": "valid"}
    for run in runs.values():  # one that this log lacks must not stay from another
        if os.path.exists(events_file(directory, run)):
            os.remove(events_file(directory, run))
    events = {}
    started = 0.0  # logs of old versions have no time
    for number, line in enumerate(sys.stdin, 1):
        try:
            entry = json.loads(line)
            kind, step = entry["event"], entry["step"]
        except (ValueError, KeyError, TypeError):
            if not line.endswith("\n"):
                break  # a killed run
            sys.exit(f"log_to_events.py: line {number}: not a line of tf-train's log")
        when = started + entry.get("seconds", 0.0)
        if kind == "start":
            if "time" in entry:
                started = when = float(calendar.timegm(time.strptime(entry["time"],
                                                                     "%Y-%m-%dT%H:%M:%SZ")))
            values = [text("start", "```\n" + json.dumps(entry, indent=1) + "\n```")]
        else:
            values = [scalar(k, x) for k, x in entry.items()
                      if k not in ("step", "seconds") and type(x) in (int, float)]
        run = runs.get(kind, "train" if kind == "start" else None)
        if run is None:
            continue
        if run not in events:
            events[run] = Events(events_file(directory, run))
        events[run].summary(when, step, values)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    main(sys.argv[1])
