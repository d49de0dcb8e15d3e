/* api_private.h - the paths of the service, as in LibreTranslate (github.com/LibreTranslate, API
 * of version 1.6): POST /translate, GET /languages, /health, /metrics. */
#ifndef TF_SERVE_API_PRIVATE_H
#define TF_SERVE_API_PRIVATE_H

#include "serve/engine_private.h"
#include "serve/http_private.h"

struct tf_api {
    struct tf_engine *engine;
    struct tf_metrics metrics;
    bool draining; /* new requests to translate are refused */
};

/* Functions of struct tf_http_opts; arg is a struct tf_api. */
void tf_api_request(void *arg, struct tf_http_request *r);
void tf_api_left(void *arg, struct tf_http_request *r);
void tf_api_answered(void *arg, int status);

#endif
