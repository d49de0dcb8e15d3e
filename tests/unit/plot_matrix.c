/* Matrices from JSON and separated values. */
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "plot/matrix.h"

/* The matrix that text holds, as "labels: row; row", or the error. */
static void reads_as(enum tf_labelled line, enum tf_labelled column, const char *text,
                     const char *want)
{
    struct tf_matrix m = {0};
    struct tf_err err = {0};
    char got[1024] = "";
    size_t n = 0;
    const char *path = temp_path("matrix");
    write_file(path, text, strlen(text));
    if (tf_matrix_read(&m, path, line, column, &err) < 0) {
        const char *colon = strstr(err.msg, ": ");
        is_str(colon ? colon + 2 : err.msg, want, "refused");
        return;
    }
    for (size_t c = 0; m.col_labels && c < m.cols; c++)
        n += (size_t)snprintf(got + n, sizeof got - n, "%s ", m.col_labels[c]);
    for (size_t r = 0; r < m.rows; r++) {
        n += (size_t)snprintf(got + n, sizeof got - n, "%s%s", r || n ? "; " : "",
                              m.row_labels ? m.row_labels[r] : "");
        for (size_t c = 0; c < m.cols; c++)
            n += (size_t)snprintf(got + n, sizeof got - n, " %g", m.v[r * m.cols + c]);
    }
    is_str(got, want, "%zu by %zu", m.rows, m.cols);
    tf_matrix_release(&m);
}

static void reads(const char *text, const char *want)
{
    reads_as(TF_LABELLED_AUTO, TF_LABELLED_AUTO, text, want);
}

int main(void)
{
    reads("1,2\n3,4\n", " 1 2;  3 4");
    reads("1,2\r\n3,4", " 1 2;  3 4");
    reads("1\t2\n\n3\t4\n", " 1 2;  3 4");
    reads("7\n", " 7");
    reads("a,b\n1,2\n", "a b ;  1 2");
    reads(",a,b\nx,1,2\ny,3,4\n", "a b ; x 1 2; y 3 4");
    reads("x,1,2\ny,3,4\n", "1 2 ; y 3 4");
    reads("x,\"a, \"\"b\"\"\",c\ny,1,\nz,,4\n", "a, \"b\" c ; y 1 nan; z nan 4");
    reads("1e3,-2.5\n", " 1000 -2.5");

    /* What is a name, and which line or column has names. */
    reads(",2019,2020\nx,1,2\ny,3,4\n", "2019 2020 ; x 1 2; y 3 4");
    reads(",2019,2020\n1,5,6\n", "2019 2020 ; 1 5 6");
    reads("\t1\t2\n0\t5\t6\n", "1 2 ; 0 5 6");
    reads("year,2019,2020\n1,5,6\n", "2019 2020 ; 1 5 6");
    reads("year,loss\n2019,5\n", "year loss ;  2019 5");
    reads("\r\n\n,1\nx,2\n", "1 ; x 2");
    reads("loss\n1\n2\n", "loss ;  1;  2");
    reads("+1,-2\n+.5,+1e3\n", " 1 -2;  0.5 1000");
    reads("NA,1\nna,NaN\n,2\n", " nan 1;  nan nan;  nan 2");
    reads("1,NA\nNAN,2\n", " 1 nan;  nan 2");
    reads(",NA,EU\nx,NA,2\n", "NA EU ; x nan 2");
    reads("inf,1\n2,3\n", "line 1: 'inf' is not a finite number");
    reads("1,2\n3,-1e999\n", "line 2: '-1e999' is not a finite number");
    const enum tf_labelled as_it_is = TF_LABELLED_AUTO, yes = TF_LABELLED_YES, no = TF_LABELLED_NO;
    reads_as(no, as_it_is, "x,1,2\ny,3,4\n", "x 1 2; y 3 4");
    reads_as(no, no, ",1\n2,3\n", " nan 1;  2 3");
    reads_as(yes, no, "2019,2020\n1,2\n", "2019 2020 ;  1 2");
    reads_as(no, yes, "2019,2\n2020,4\n", "2019 2; 2020 4");
    reads_as(yes, yes, "0,1\n2,3\n", "1 ; 2 3");
    reads_as(as_it_is, yes, "year,loss\n2019,5\n", "loss ; 2019 5");
    reads_as(no, no, "a,b\n1,2\n", "line 1: 'a' is not a number");
    reads_as(yes, as_it_is, "[[1]]", "JSON has labels in \"rows\" and \"cols\", not in its cells");
    reads("[[1,2],[3,null]]", " 1 2;  3 nan");
    reads(" {\"data\":[[1],[2]],\"rows\":[\"a\",\"b\"],\"more\":{\"x\":[1]}}", "a 1; b 2");
    reads("{\"cols\":[\"c\",2],\"data\":[[1,2]]}", "c 2 ;  1 2");

    reads("", "no values");
    reads("[]", "no values");
    reads("[[],[]]", "no values");
    reads("a,b\n", "no values");
    reads("1;2\n3;4\n", "no values: cells are separated by commas or tabs, not by semicolons");
    reads("1,5;2,5\n3,5;4,5\n", "line 2: '5;4' is not a number: cells are separated by commas or "
                                "tabs, not by semicolons");
    reads("1,2\n3\n", "line 2: 1 values, the first row has 2");
    reads("1,2\n3,x4\n5,6\n", "line 2: 'x4' is not a number");
    reads("[[1,2],[3]]", "row 2 has 1 values, the first has 2");
    reads("[[1],2]", "row 2 is not an array");
    reads("[[\"a\"]]", "a row holds something other than numbers and null");
    reads("{\"data\":[[1,2]],\"rows\":[\"a\",\"b\"]}", "2 labels for 1 rows");
    reads("[[1]] x", "json: byte 7: text after the value");
    return done();
}
