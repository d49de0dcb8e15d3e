/* page.c - the page of the service for browsers, page.html, as it is. */
#include "serve/page_private.h"

__asm__(".pushsection .rodata\n"
        ".hidden tf_page\n.hidden tf_page_end\n"
        ".global tf_page\n.global tf_page_end\n"
        "tf_page: .incbin \"lib/serve/page.html\"\n"
        "tf_page_end: .byte 0\n"
        ".popsection\n");
