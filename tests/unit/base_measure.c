/* The number in what --valid-command prints: sacreBLEU's and tf-bleu's forms, and others. */
#include "../harness/tap.h"
#include "base/measure_private.h"

#include <string.h>

static const struct {
    const char *text;
    double want;
} good[] = {
    {"27.3\n", 27.3},
    {"some words 1e3\nthen 5\n\n", 5},
    {"score: 0.85", 0.85},
    {"hyp.txt\tscore: 0.8512\n", 0.8512},
    {"43.7%\ndone\n", 43.7},
    {"(-3)", -3},
    /* sacreBLEU 1.4 to 2.6, and tf-bleu --format text */
    {"BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.4.2 = 68.9 90.0/75.0/66.7/50.0 "
     "(BP = 1.000 ratio = 1.000 hyp_len = 500 ref_len = 500)\n",
     68.9},
    {"BLEU+case.mixed+numrefs.1+smooth.exp+tok.13a+version.1.4.14 = 12.5 40.0/20.0/10.0/5.0 "
     "(BP = 0.900 ratio = 0.905 hyp_len = 10 ref_len = 11)",
     12.5},
    {"BLEU|nrefs:1|bs:1000|seed:12345|case:mixed|version:2.4.2 = 43.7 (\xce\xbc = 43.6 \xc2\xb1 "
     "1.2) "
     "75.0/50.0 (BP = 1.000 ratio = 1.000 hyp_len = 500 ref_len = 500)",
     43.7},
    {"chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.4.2 = 66.333", 66.333},
    /* multi-bleu.perl, and others */
    {"BLEU = 43.70, 75.0/50.0/33.3/25.0 (BP=1.000, ratio=1.000, hyp_len=500, ref_len=500)\n", 43.7},
    {"step 3: BLEU=10.5, of 200 lines", 10.5},
    {"some words 1e3 then BLEU = 10.5, chrF2", 10.5},
    /* sacreBLEU's JSON */
    {"{\n \"name\": \"BLEU\",\n \"score\": 68.9,\n \"verbose_score\": \"90.0 (ref_len = 500)\",\n "
     "\"nrefs\": \"1\",\n \"confidence_mean\": 68.1\n}\n",
     68.9},
    {"{\n \"name\": \"BLEU\",\n \"score\": 68.9,\n \"nrefs\": \"1\"\n}\n\ndone {}.\n", 68.9},
    {"loaded 3 files\n{\"score\": 1.5, \"n\": 7}", 1.5},
    {"[\n{\n \"name\": \"chrF2\",\n \"score\": 60.5\n}\n]", 60.5},
    {"{\"bleu\": 31.25}", 31.25},
    {"7 {8}\n9 {nan}", 9},
    /* TER beside what is chosen, and words that begin so */
    {"BLEU = 27.3 TER: 50", 27.3},
    {"{\"score\": 27.3, \"ter\": 50}", 27.3},
    {"TERp 3", 3},
    {"after 3", 3},
};

static const struct {
    const char *text, *why;
} bad[] = {
    {"", "printed no number"},
    {"none chrF2 nan\n", "printed no number"},
    {"{\"name\": \"BLEU\"}", "printed no number"},
    {"40 60", "printed several numbers in its last line (print one): 40 60"},
    {"1\nstep 40: 60 \n\n", "printed several numbers in its last line (print one): step 40: 60"},
    {"BLEU = 40 chrF2 = 60", "several numbers"},
    {"loss = 3.2 ppl = 40", "several numbers"},
    {"[{\"name\": \"BLEU\", \"score\": 3}, {\"name\": \"chrF2\", \"score\": 4}]",
     "several numbers"},
    {"{\"a\": 3, \"b\": 4}", "several numbers"},
    {"TER|nrefs:1|case:lc|tok:tercom|version:2.4.2 = 10.000", "less is better"},
    {"{\"name\": \"TER\", \"score\": 3}", "less is better"},
    {"TER: 50", "less is better"},
    {"ter 50", "less is better"},
    {"2.4.2 (TER) 50 %", "less is better"},
    {"{\"TER\": 50}", "less is better"},
    {"{\"ter\": 50}", "less is better"},
};

int main(void)
{
    char why[TF_MEASURE_WHY];
    double x;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (ok(tf_measure_of(&x, why, good[i].text, strlen(good[i].text)), "%s", good[i].text))
            is_near(x, good[i].want, 0, "its value");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!tf_measure_of(&x, why, bad[i].text, strlen(bad[i].text)), "refused: %s", bad[i].text);
        ok(strstr(why, bad[i].why) != NULL, "because: %s", why);
    }
    /* Bytes that are no text, none of which is read beyond the end. */
    ok(tf_measure_of(&x, why, "\0\xff 4\0", 5) && x == 4, "bytes");
    /* JSON lines without a number take no time that grows with the square of theirs. */
    enum { LINES = 1 << 18 };
    static char many[4 * LINES];
    for (size_t i = 0; i < LINES; i++)
        memcpy(many + 4 * i, "[ ]\n", 4);
    ok(!tf_measure_of(&x, why, many, sizeof many), "many lines without a number");
    return done();
}
