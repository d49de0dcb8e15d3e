/* page_private.h - the page of the service for browsers: one file, which needs no other. */
#ifndef TF_SERVE_PAGE_PRIVATE_H
#define TF_SERVE_PAGE_PRIVATE_H

extern const char tf_page[], tf_page_end[];

#endif
