/* tokenizer_moses_prefixes.c - words whose full stop belongs to them: the built-in lists have the
 * words of Moses' nonbreaking_prefix.en, .de and .fr, sorted. */
#include "metrics/tokenizer_moses.h"
#include "base/memory.h"
#include "base/order.h"
#include "text/text_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Besides the capital letters A to Z. */
static const struct {
    const char *words, *before_numbers;
    char first_letter; /* lower-case letters from here to z; 0: none */
    int ordinals;      /* numbers from 1 to this */
} lists[] = {
    [TF_MOSES_EN] =
        {"Adj Adm Adv Apr Asst Aug Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR "
         "Dec Dr Drs Ens Feb Gen Gov Hon Hosp Hr Insp Jan Jul Jun Lt MM MR MRS MS Maj Mar "
         "Messrs Mlle Mme Mr Mrs Ms Msgr Nos Nov Nr Oct Op Ord Pfc Ph Prof Pvt Rep Reps Res "
         "Rev Rs Rt Sen Sens Sep Sfc Sgt Sr St Supt Surg e.g i.e rev v vs",
         "No Art pp", 0, 0},
    [TF_MOSES_DE] =
        {"Adj Adm Adv Art Asst BSE Bart Bldg Brig Bros Buchst Ca Capt Chr Cmdr Co Col Comdr "
         "Con Corp Cpl D.h DR Dkr Dr Ens Gen Gov Hon Hosp I.F II III IV IX Insp Lt Ltd MM "
         "MR MRS MS Maj Messrs Mio Mlle Mme Mr Mrd Mrs Ms Msgr MwSt No Nos Nr Op Ord Pfc Ph "
         "Prof Pvt Rep Reps Res Rev Rt SA Sen Sens Sfc Sgt Sr St Std Supt Surg VI VII VIII "
         "XI XII XIII XIV XIX XV XVI XVII XVIII XX Zt b.A bzgl bzw c.-à-d ca d.J d.h dergl "
         "dgl etc evtl ff g.U g.g.A ggf i.H.v ii iii iv ix jun k.o m.E o.ä pp s.p.a sen sog "
         "sogen spp u.E u.U u.a u.s.w u.ä usf usw vgl vi vii viii vs xi xii xiii xiv xix xv "
         "xvi xvii xviii xx z.B z.T z.Zt zzt",
         "", 'a', 99},
    [TF_MOSES_FR] =
        {"A.C.N A.M B.P C.N C.N.S C.P.I C.Q.F.D C.S E.V L.D LL.AA LL.AA.II LL.AA.RR "
         "LL.AA.SS LL.EE LL.MM LL.MM.II.RR MM N.B N.D N.D.A N.D.L.R N.D.T N.P.A.I N.S NN.SS "
         "P.S R.-V R.A.S R.I.P R.P S.A S.A.I S.A.R S.A.S S.E S.M S.M.I.R S.S SS T.S.V.P X.O "
         "Z.I al ann apr art auj av boul c.-à-d ca cf ch.-l chap contr dir e.g env etc ex "
         "fasc fig fr fém hab i.e ibid id inf lib loc.cit masc ms n/réf p.c.c p.ex p.j pl "
         "pp sec sect sing sq sqq suiv sup suppl tél vb vol vs éd",
         "", 'b', 0},
};

static void add_prefix(struct tf_moses_prefixes *p, const char *s, size_t n, bool before_numbers)
{
    p->v = tf_xarray(p->v, p->n + 1, sizeof *p->v);
    p->v[p->n] = (struct tf_moses_prefix){tf_xstrndup(s, n), before_numbers, p->n};
    p->n++;
}

static void add_words(struct tf_moses_prefixes *p, const char *s, bool before_numbers)
{
    for (size_t n; *s; s += n + (s[n] == ' ')) {
        n = strcspn(s, " ");
        add_prefix(p, s, n, before_numbers);
    }
}

static int compare_lines(const void *a, const void *b)
{
    const struct tf_moses_prefix *x = a, *y = b;
    int c = tf_order_strings(a, b);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

/* Sort, and keep the last of equal words. */
static void sort_words(struct tf_moses_prefixes *p)
{
    size_t kept = 0;
    if (p->n > 0)
        qsort(p->v, p->n, sizeof *p->v, compare_lines);
    for (size_t i = 0; i < p->n; i++) {
        if (i + 1 < p->n && tf_order_strings(&p->v[i], &p->v[i + 1]) == 0)
            free(p->v[i].word);
        else
            p->v[kept++] = p->v[i];
    }
    p->n = kept;
}

void tf_moses_prefixes_of(struct tf_moses_prefixes *p, enum tf_moses_lang lang)
{
    char number[8];
    *p = (struct tf_moses_prefixes){0};
    add_words(p, lists[lang].words, false);
    add_words(p, lists[lang].before_numbers, true);
    for (char c = 'A'; c <= 'Z'; c++)
        add_prefix(p, &c, 1, false);
    for (char c = lists[lang].first_letter; c != 0 && c <= 'z'; c++)
        add_prefix(p, &c, 1, false);
    for (int i = 1; i <= lists[lang].ordinals; i++)
        add_prefix(p, number, (size_t)snprintf(number, sizeof number, "%d", i), false);
    sort_words(p);
}

/* The bytes of a line before the white space and the last mark after it; n if there are none. */
static size_t unmarked(const char *line, size_t n)
{
    static const char mark[] = "#NUMERIC_ONLY#";
    const char *last = NULL;
    for (const char *p = line;
         (p = memmem(p, n - (size_t)(p - line), mark, sizeof mark - 1)) != NULL; p++)
        if (p > line && tf_ascii_space(p[-1]))
            last = p;
    return last != NULL ? (size_t)(last - line) - 1 : n;
}

int tf_moses_prefixes_read(struct tf_moses_prefixes *p, const char *path, struct tf_err *err)
{
    struct tf_in in;
    const char *line;
    size_t n;
    int got;
    *p = (struct tf_moses_prefixes){0};
    if (tf_text_open(&in, path, TF_TEXT_UTF8, err) != 0)
        return -1;
    while ((got = tf_in_line(&in, &line, &n, 1 << 16, err)) == 1) {
        if (n == 0 || line[0] == '#')
            continue;
        size_t word = unmarked(line, n);
        bool marked = word < n;
        while (word > 0 && tf_ascii_space(line[word - 1]))
            word--;
        if (word > 0)
            add_prefix(p, line, word, marked);
    }
    if (got == 2)
        got = tf_fail(err, "%s: a line of more than %d bytes: not a list of abbreviations", in.name,
                      1 << 16);
    tf_in_close(&in);
    sort_words(p);
    return got;
}

void tf_moses_prefixes_release(struct tf_moses_prefixes *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->v[i].word);
    free(p->v);
    *p = (struct tf_moses_prefixes){0};
}

bool tf_moses_keeps_stop(const struct tf_moses_prefixes *p, const char *word, bool before_number)
{
    struct tf_moses_prefix key = {.word = (char *)word};
    const struct tf_moses_prefix *found =
        p->n > 0 ? bsearch(&key, p->v, p->n, sizeof *p->v, tf_order_strings) : NULL;
    return found != NULL && (!found->before_numbers || before_number);
}
