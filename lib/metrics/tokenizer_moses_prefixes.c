/* tokenizer_moses_prefixes.c - words whose full stop belongs to them: the built-in lists have the
 * words of Moses' nonbreaking_prefix.en, .de and .fr. */
#include "metrics/tokenizer_moses.h"
#include "base/input.h"
#include "base/memory.h"
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
        {
            "Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Drs "
            "Ens Gen Gov Hon Hr Hosp Insp Lt MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr "
            "Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr St Supt Surg v vs "
            "i.e rev e.g Rs Nos Nr Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec",
            "No Art pp", 0, 0},
    [TF_MOSES_DE] =
        {
            "II III IV VI VII VIII IX XI XII XIII XIV XV XVI XVII XVIII XIX XX ii iii iv vi "
            "vii viii ix xi xii xiii xiv xv xvi xvii xviii xix xx Adj Adm Adv Asst Bart Bldg "
            "Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Ens Gen Gov Hon Hosp Insp Lt MM "
            "MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res "
            "Rev Rt Sen Sens Sfc Sgt Sr St Supt Surg Mio Mrd bzw vs usw d.h z.B u.a etc MwSt "
            "ggf d.J D.h m.E vgl I.F z.T sogen ff u.E g.U g.g.A c.-à-d Buchst u.s.w sog u.ä "
            "Std evtl Zt Chr u.U o.ä Ltd b.A z.Zt spp sen SA k.o jun i.H.v dgl dergl Co zzt "
            "usf s.p.a Dkr bzgl BSE No Nos Art Nr pp ca Ca",
            "", 'a', 99},
    [TF_MOSES_FR] =
        {
            "A.C.N A.M art ann apr av auj lib B.P boul ca c.-à-d cf ch.-l chap contr C.P.I "
            "C.Q.F.D C.N C.N.S C.S dir éd e.g env al etc E.V ex fasc fém fig fr hab ibid id "
            "i.e inf LL.AA LL.AA.II LL.AA.RR LL.AA.SS L.D LL.EE LL.MM LL.MM.II.RR loc.cit "
            "masc MM ms N.B N.D.A N.D.L.R N.D.T n/réf NN.SS N.S N.D N.P.A.I p.c.c pl pp p.ex "
            "p.j P.S R.A.S R.-V R.P R.I.P SS S.S S.A S.A.I S.A.R S.A.S S.E sec sect sing S.M "
            "S.M.I.R sq sqq suiv sup suppl tél T.S.V.P vb vol vs X.O Z.I",
            "", 'b', 0},
};

static void add(struct tf_moses_prefixes *p, const char *s, size_t n, bool before_numbers)
{
    p->v = tf_xarray(p->v, p->n + 1, sizeof *p->v);
    p->v[p->n++] = (struct tf_moses_prefix){tf_xstrndup(s, n), before_numbers};
}

static void add_words(struct tf_moses_prefixes *p, const char *s, bool before_numbers)
{
    for (size_t n; *s; s += n + (s[n] == ' ')) {
        n = strcspn(s, " ");
        add(p, s, n, before_numbers);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct tf_moses_prefix *)a)->word,
                  ((const struct tf_moses_prefix *)b)->word);
}

static void sort(struct tf_moses_prefixes *p)
{
    if (p->n > 0)
        qsort(p->v, p->n, sizeof *p->v, compare);
}

void tf_moses_prefixes_of(struct tf_moses_prefixes *p, enum tf_moses_lang lang)
{
    char number[8];
    *p = (struct tf_moses_prefixes){0};
    add_words(p, lists[lang].words, false);
    add_words(p, lists[lang].before_numbers, true);
    for (char c = 'A'; c <= 'Z'; c++)
        add(p, &c, 1, false);
    for (char c = lists[lang].first_letter; c != 0 && c <= 'z'; c++)
        add(p, &c, 1, false);
    for (int i = 1; i <= lists[lang].ordinals; i++)
        add(p, number, (size_t)snprintf(number, sizeof number, "%d", i), false);
    sort(p);
}

int tf_moses_prefixes_read(struct tf_moses_prefixes *p, const char *path, struct tf_err *err)
{
    static const char mark[] = "#NUMERIC_ONLY#";
    struct tf_in in;
    const char *line;
    size_t n;
    int got;
    *p = (struct tf_moses_prefixes){0};
    if (tf_in_open(&in, path, err) < 0)
        return -1;
    while ((got = tf_in_line(&in, &line, &n, 1 << 16, err)) == 1) {
        const char *space = n > 0 && line[0] != '#' ? memchr(line, ' ', n) : NULL;
        bool marked = space != NULL && memmem(line, n, mark, sizeof mark - 1) != NULL;
        while (n > 0 && tf_ascii_space(line[n - 1]))
            n--;
        if (n > 0 && line[0] != '#')
            add(p, line, marked ? (size_t)(space - line) : n, marked);
    }
    if (got == 2)
        got = tf_fail(err, "%s: a line of more than %d bytes: not a list of abbreviations", in.name,
                      1 << 16);
    tf_in_close(&in);
    sort(p);
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
        p->n > 0 ? bsearch(&key, p->v, p->n, sizeof *p->v, compare) : NULL;
    return found != NULL && (!found->before_numbers || before_number);
}
