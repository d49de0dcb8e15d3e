/* tuning.cu - the file of measured choices: text in and out. Host code alone. */
#include "tuning_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "tf-tuning 1";

int64_t tf_tuning_rows(int64_t rows)
{
    int64_t step = 128;
    while (step * 16 <= rows)
        step *= 2;
    int64_t near = (rows + step / 2) / step * step;
    return near > 0 ? near : step;
}

void tf_tuning_add(struct tf_tuning *t, const std::string &shape, const struct tf_tuned &e)
{
    if (t->entries.emplace(shape, e).second)
        t->order.push_back(shape);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "SHAPE : HEX FIRST BEST" */
static bool parse_entry(std::string &shape, struct tf_tuned &e, const std::string &line)
{
    size_t colon = line.find(" : ");
    if (colon == std::string::npos || colon == 0 || line.size() < colon + 3 + 2 * sizeof e.algo)
        return false;
    shape = line.substr(0, colon);
    const char *p = line.c_str() + colon + 3;
    for (size_t i = 0; i < sizeof e.algo; i++, p += 2) {
        int high = digit(p[0]), low = high < 0 ? -1 : digit(p[1]);
        if (low < 0)
            return false;
        e.algo[i] = (uint8_t)(16 * high + low);
    }
    int end = 0;
    return sscanf(p, " %lf %lf%n", &e.first, &e.best, &end) == 2 && p[end] == 0;
}

int tf_tuning_parse(struct tf_tuning *t, const char *text, size_t n, struct tf_err *err)
{
    t->entries.clear();
    t->order.clear();
    std::string device, library;
    size_t number = 0;
    for (const char *p = text, *end = text + n; p < end; number++) {
        const char *stop = (const char *)memchr(p, '\n', (size_t)(end - p));
        if (stop == nullptr)
            return tf_fail(err, "line %zu: cut short", number + 1);
        std::string line(p, (size_t)(stop - p));
        p = stop + 1;
        if (line.find('\0') != std::string::npos)
            return tf_fail(err, "line %zu: not text", number + 1);
        if (number == 0 && line != magic)
            return tf_fail(err, "not a tuning file");
        if (number == 1 && line.compare(0, 7, "device ") == 0)
            device = line.substr(7);
        if (number == 2 && line.compare(0, 8, "library ") == 0)
            library = line.substr(8);
        if (number < 3)
            continue;
        std::string shape;
        struct tf_tuned e;
        if (!parse_entry(shape, e, line))
            return tf_fail(err, "line %zu: not a shape and its algorithm", number + 1);
        tf_tuning_add(t, shape, e);
    }
    if (number < 3)
        return tf_fail(err, "not a tuning file");
    std::string ours = std::to_string(t->library);
    if (device != t->device)
        return tf_fail(err, "made for %.80s, this is %.80s: tune again", device.c_str(),
                       t->device.c_str());
    if (library != ours)
        return tf_fail(err, "made with cuBLASLt %.20s, this is %.20s: tune again", library.c_str(),
                       ours.c_str());
    return 0;
}

char *tf_tuning_text(const struct tf_tuning *t, struct tf_err *err)
{
    std::string text = std::string(magic) + "\ndevice " + t->device + "\nlibrary " +
                       std::to_string(t->library) + "\n";
    for (const std::string &shape : t->order) {
        const struct tf_tuned &e = t->entries.at(shape);
        char hex[2 * sizeof e.algo + 1], times[64];
        for (size_t i = 0; i < sizeof e.algo; i++)
            snprintf(hex + 2 * i, 3, "%02x", e.algo[i]);
        snprintf(times, sizeof times, " %.1f %.1f\n", e.first, e.best);
        text += shape + " : " + hex + times;
    }
    char *copy = strdup(text.c_str());
    if (copy == nullptr)
        tf_fail(err, "no memory for a tuning file");
    return copy;
}
