/* tokenizer_moses_abbreviations.c - abbreviations whose full stop belongs to the word. Our own
 * lists, from general knowledge of the languages. */
#include "metrics/tokenizer_moses.h"
#include <string.h>

static const char *const en[] = {
    "Mr",   "Mrs",   "Ms",     "Messrs", "Dr",  "Drs",  "Prof", "Rev",  "Hon",  "St",  "Sr",
    "Jr",   "Esq",   "Gen",    "Lt",     "Col", "Maj",  "Capt", "Cmdr", "Cpl",  "Sgt", "Adm",
    "Brig", "Gov",   "Sen",    "Sens",   "Rep", "Reps", "Pres", "Supt", "Insp", "Det", "Ald",
    "Bros", "Corp",  "Inc",    "Ltd",    "Co",  "Cos",  "Dept", "Univ", "Assn", "Ave", "Blvd",
    "Rd",   "Mt",    "Ft",     "Jan",    "Feb", "Mar",  "Apr",  "Jun",  "Jul",  "Aug", "Sep",
    "Sept", "Oct",   "Nov",    "Dec",    "vs",  "v",    "i.e",  "e.g",  "cf",   "viz", "etc",
    "al",   "ca",    "approx", "est",    "ed",  "eds",  "Ph.D", "M.D",  "B.A",  "M.A", "a.m",
    "p.m",  "U.S",   "U.K",    "Sr",     "Sra", "Mme",  "Mlle", "MM",   "Fr",   "Bp",  "Msgr",
    "Ens",  "Comdr", "Sfc",    "Op",     NULL};
static const char *const en_numbers[] = {"No",  "Nos", "Art", "Nr",  "pp", "p",  "vol", "Vol",
                                         "fig", "Fig", "sec", "Sec", "ch", "Ch", NULL};

static const char *const de[] = {
    "Hr",   "Hrn",    "Fr",    "Frl",     "Dr",     "Prof",   "Dipl",   "Ing",  "Mag",   "Med",
    "Jur",  "Phil",   "St",    "Str",     "Abb",    "Abs",    "Abschn", "Abt",  "allg",  "Anh",
    "Anm",  "Art",    "Aufl",  "Ausg",    "Bd",     "Bde",    "begr",   "bes",  "Best",  "betr",
    "Betr", "Bez",    "bzgl",  "bzw",     "ca",     "Co",     "dgl",    "d.h",  "d.i",   "ders",
    "dt",   "ehem",   "eigtl", "einschl", "engl",   "entspr", "etc",    "ev",   "evtl",  "exkl",
    "Expl", "f",      "ff",    "Fa",      "Fam",    "Fig",    "Forts",  "frz",  "geb",   "gegr",
    "gem",  "ges",    "gest",  "ggf",     "gr",     "Hbf",    "Hl",     "hl",   "Hrsg",  "hrsg",
    "i.A",  "i.d.R",  "i.V",   "inkl",    "insb",   "Inh",    "Jg",     "jr",   "Jr",    "Kap",
    "kath", "Kfm",    "lat",   "lt",      "Lt",     "lfd",    "Mill",   "Mio",  "Mrd",   "Mr",
    "Mrs",  "Ms",     "max",   "min",     "mind",   "m.E",    "möbl",   "mtl",  "n.Chr", "v.Chr",
    "No",   "Nr",     "o.ä",   "o.g",     "Obj",    "od",     "österr", "Pkt",  "pl",    "Pl",
    "pp",   "Präs",   "rd",    "Reg",     "röm",    "S",      "s.o",    "s.u",  "Sen",   "sog",
    "Sr",   "staatl", "std",   "Std",     "stellv", "Stck",   "Tel",    "tägl", "Tsd",   "u",
    "u.a",  "u.ä",    "u.U",   "usw",     "usf",    "u.s.w",  "v",      "v.a",  "Verf",  "Verl",
    "vgl",  "Vgl",    "Vol",   "vorm",    "vs",     "Wg",     "wg",     "z",    "z.B",   "z.T",
    "z.Z",  "Zi",     "ziv",   "zit",     "zzgl",   "zzt",    "Jan",    "Feb",  "Mär",   "Apr",
    "Jun",  "Jul",    "Aug",   "Sep",     "Sept",   "Okt",    "Nov",    "Dez",  "Mo",    "Di",
    "Mi",   "Do",     "Sa",    "So",      "Gen",    "Hptm",   "Maj",    "Kpt",  "Ltn",   "Obst",
    NULL};

static const char *const fr[] = {
    "M",    "MM",   "Mr",   "Mme",  "Mmes", "Mlle", "Mlles", "Me",     "Mgr",    "Dr",
    "Drs",  "Pr",   "Prof", "St",   "Ste",  "Sts",  "Cie",   "Cies",   "Sté",    "Ets",
    "av",   "Av",   "bd",   "Bd",   "boul", "chap", "Chap",  "cf",     "Cf",     "coll",
    "col",  "dép",  "dir",  "éd",   "éds",  "env",  "etc",   "ex",     "fasc",   "fém",
    "hab",  "ibid", "id",   "ill",  "inf",  "int",  "intro", "introd", "janv",   "févr",
    "avr",  "juil", "sept", "oct",  "nov",  "déc",  "loc",   "max",    "min",    "masc",
    "mém",  "ms",   "obs",  "op",   "ouvr", "p",    "pp",    "p.ex",   "paragr", "pl",
    "préf", "qqch", "qqn",  "réf",  "rééd", "s",    "sq",    "suiv",   "suppl",  "sup",
    "tél",  "Tél",  "t",    "trad", "v",    "vol",  "Vol",   "vs",     "c.-à-d", "J.-C",
    "apr",  "Gén",  "Gal",  "Col",  "Cdt",  "Cap",  "Lt",    "Sgt",    "R.P",    NULL};
static const char *const fr_numbers[] = {"art", "Art", "n",   "no",  "No",
                                         "nos", "fig", "Fig", "pag", NULL};

static bool in_list(const char *const *list, const char *s, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && !memcmp(*list, s, n))
            return true;
    return false;
}

/* German ordinals: 1 to 99 and roman numerals. */
static bool ordinal(const char *s, size_t n)
{
    if (n <= 2 && s[0] >= '1' && s[0] <= '9' && (n == 1 || (s[1] >= '0' && s[1] <= '9')))
        return true;
    size_t i = 0;
    while (i < n && memchr("IVX", s[i], 3))
        i++;
    return i == n;
}

int tf_moses_abbreviation(enum tf_moses_lang lang, const char *s, size_t n)
{
    if (!n)
        return 0;
    if (n == 1 &&
        ((s[0] >= 'A' && s[0] <= 'Z') || (lang == TF_MOSES_DE && s[0] >= 'a' && s[0] <= 'z')))
        return 1;
    if (lang == TF_MOSES_DE)
        return ordinal(s, n) || in_list(de, s, n);
    if (in_list(lang == TF_MOSES_EN ? en : fr, s, n))
        return 1;
    return in_list(lang == TF_MOSES_EN ? en_numbers : fr_numbers, s, n) ? 2 : 0;
}
