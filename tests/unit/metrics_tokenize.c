/* Each tokenizer against sacreBLEU 2.6: the expected tokens have a bar between them. */
#include "../harness/tap.h"
#include "metrics/tokenizers_private.h"

static struct tf_tokens tokens;

static void check(enum tf_tokenizer which, const char *line, const char *want)
{
    struct tf_buf got = {0};
    tf_tokenizers[which](&tokens, (struct tf_text){line, strlen(line)});
    for (size_t i = 0; i < tokens.n; i++) {
        if (i)
            tf_buf_byte(&got, '|');
        tf_buf_add(&got, tokens.v[i].p, tokens.v[i].n);
    }
    is_str(got.p ? got.p : "", want, "%s: %zu bytes", tf_tokenizer_names[which], strlen(line));
    tf_buf_release(&got);
}

int main(void)
{
    check(TF_TOK_13A, "Hello, world.", "Hello|,|world|.");
    check(TF_TOK_13A, "a..b ...c. 1.5 .5 5. 5.a a.5 ,,,,x",
          "a|.|.|b|.|.|.|c|.|1.5|.|5|5|.|5|.|a|a|.|5|,|,|,|,|x");
    check(TF_TOK_13A, "1-2 a-b 3-x x-3 --5-", "1|-|2|a-b|3|-|x|x-3|--5|-");
    check(TF_TOK_13A, "(a)[b]{c}<d>\"e\"'f'`g`_h_~!?;:@#$%^&*+=|\\/",
          "(|a|)|[|b|]|{|c|}|<|d|>|\"|e|\"|'f'|`|g|`|_|h|_|~|!|?|;|:|@|#|$|%|^|&|*|+|=|||\\|/");
    check(TF_TOK_13A, "&quot;x&quot; &amp;lt; &amp;amp; &lt;b&gt; &am<skipped>p; &amp;quot;",
          "\"|x|\"|<|&|amp|;|<|b|>|&|&|quot|;");
    check(TF_TOK_13A, "a\302\240b\343\200\200c\342\200\250d\011e\034f", "a|b|c|d|e|f");
    check(TF_TOK_13A, "é.è, 5,é 5.5,5 —x—", "é|.|è|,|5|,|é|5.5,5|—x—");
    check(TF_TOK_13A, "", "");
    check(TF_TOK_13A, ".", ".");
    check(TF_TOK_13A, ".,.,1.,.,2", ".|,|.|,1|.|,|.|,|2");
    check(TF_TOK_13A, "\342\200\201.5Â.5 don't U.S. U.K.,", ".|5Â|.|5|don't|U|.|S|.|U|.|K|.|,");
    check(TF_TOK_INTL, "1999.", "1999.");
    check(TF_TOK_INTL, ".5", ".5");
    check(TF_TOK_INTL, "a..b ...c 1,5 $5.00 «a» 5%", "a|.|.|b|.|.|.|c|1,5|$|5.00|«|a|»|5%");
    check(TF_TOK_INTL, "½. x½.y 1$.2 …", "½|.|x½|.|y|1|$|.|2|…");
    check(TF_TOK_INTL, "don't — (a-b) 3-4", "don|'|t|—|(|a|-|b|)|3-4");
    check(TF_TOK_INTL, ".", ".");
    check(TF_TOK_ZH, "我喜欢，苹果.5 a.5.", "我|喜|欢|，|苹|果|.|5|a|.|5.");
    check(TF_TOK_ZH, "  .5 x-1 1-x 中1.5文。", ".5|x-1|1|-|x|中|1.5|文|。");
    check(TF_TOK_ZH, "€5 “x” \342\200\201a カタカナ 한국", "€|5|“|x|”|a|カタカナ|한국");
    check(TF_TOK_ZH, ",a", ",|a");
    check(TF_TOK_ZH, "5.", "5.");
    check(TF_TOK_CHAR, "a b\302\240é 中", "a|b|é|中");
    check(TF_TOK_NONE, " a\343\200\200b.c  d", "a|b.c|d");
    check(TF_TOK_NONE, "", "");

    /* A token list that must grow. */
    char many[3000];
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = i % 2 ? ' ' : 'x';
    tf_tokenize_13a(&tokens, (struct tf_text){many, sizeof many});
    is_int(tokens.n, 1500, "1500 tokens");
    tf_tokens_release(&tokens);
    return done();
}
