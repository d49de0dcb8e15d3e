/* figure.h - what all figures have in common. */
#ifndef TF_PLOT_FIGURE_H
#define TF_PLOT_FIGURE_H

struct tf_figure {
    const char *title;             /* NULL: none, or one made from the data */
    const char *x_label, *y_label; /* NULL: none */
    double width, height;          /* in pixels; where height follows from width it is ignored */
};

#endif
