#!/usr/bin/env bats
# tf-serve: its answers, what it does for hostile clients, pipelines that end, and signals.
load helper
load translate

setup_file() {
    command -v tf-serve >/dev/null || return 0
    make_model
}

prepare() {
    need tf-serve curl
    server='' nginx=''
}

teardown() {
    stop
    [ -z "$nginx" ] || { kill "$nginx" && wait "$nginx"; } 2>/dev/null || true
}

stop() {
    [ -z "$server" ] || { kill -KILL "$server" && wait "$server"; } 2>/dev/null || true
    server=
}

# serve COMMAND...: start the service; its process in $server, its address in $url.
serve() {
    : >address
    "$@" >address 2>messages 3>&- &
    server=$!
    listens() { [ -s address ] || ! kill -0 "$server" 2>/dev/null; }
    wait_for listens
    url=$(sed -n 's/^listening on //p' address)
    [ -n "$url" ] || { cat messages >&2; return 1; }
}

# The service ends with that status.
ends() {
    local status=0
    wait "$server" || status=$?
    server=
    [ "$status" -eq "$1" ]
}

client() { timeout 120 "$TF_PYTHON" -I "$TOP/tests/cli/serve.py" "$1" "$url" "${@:2}"; }

ask() { curl -sS -m 60 "$url/$1" "${@:2}"; }

# Tools of our own in a pipeline: what a line says, or bin/model, is what happens.
with_script() {
    mkdir -p bin
    cp --remove-destination "$(command -v tf-serve)" bin/ # the last may run still
    cp --remove-destination "$TOP/tests/cli/pipeline.py" bin/tf-tokenize
    chmod +x bin/tf-tokenize
    cp --remove-destination bin/tf-tokenize bin/tf-decode
    cp "$MODEL" model
    : >bin/model
    TF_SANDBOX=no serve bin/tf-serve en-xx=model -l 127.0.0.1:0 "$@"
}

@test "texts, lists and forms are answered with what tf-translate prints" {
    serve tf-serve en-xx="$MODEL" xx-en="$MODEL" --listen 127.0.0.1:0 --alternatives 2 -p 2 -b 4
    tf-translate -m "$MODEL" "$LINES_TXT" >want
    client texts "$LINES_TXT" | diff want -
    tf-translate --json -n 3 -m "$MODEL" <<<'a b c' >alone
    text=$(jq -r .text alone)
    # A pipeline has one answer for a line, whatever is in it.
    [ "$(ask translate -d 'q=A b. B a.&source=en&target=xx' -w '%{http_code}' -o /dev/null)" = 200 ]
    # White space around lines stays.
    output=$(ask translate --data-urlencode $'q=a b c\r\n\n\t  a b c \n' -d source=en -d target=xx)
    [ "$output" = "$(jq -nc --arg t "$text"$'\r\n\n\t  '"$text"$' \n' '{translatedText: $t}')" ]
    output=$(ask translate -d 'q=a b c&q=' -d source=en -d target=xx)
    [ "$output" = "$(jq -nc --arg t "$text" '{translatedText: [$t, ""]}')" ]
    # In the query of the address, too.
    [ "$(ask 'translate?q=a%20b%20c&source=en&target=xx' -X POST)" = \
        "$(jq -nc --arg t "$text" '{translatedText: $t}')" ]
    [ "$(ask 'translate?target=xx&source=en' -d 'q=a b c')" = \
        "$(jq -nc --arg t "$text" '{translatedText: $t}')" ]
    output=$(ask translate -F 'q=a b c' -F source=en -F target=xx -F format=)
    [ "$output" = "$(jq -nc --arg t "$text" '{translatedText: $t}')" ]
    output=$(ask translate -H 'Content-Type: application/json; charset=utf-8' \
        -d '{"q": ["a b c", ""], "source": "en", "target": "xx", "alternatives": 7, "api_key": ""}')
    [ "$output" = "$(jq -c --arg t "$text" \
        '{translatedText: [$t, ""], alternatives: [[.alternatives[].text], []]}' alone)" ]
    output=$(ask translate -d 'q=a b c&source=auto&target=xx')
    [ "$(jq -c .detectedLanguage <<<"$output")" = '{"confidence":0,"language":"en"}' ]
    output=$(ask translate -d 'q=a b c&q=b&source=auto&target=xx')
    [ "$(jq -c .detectedLanguage <<<"$output")" = \
        '[{"confidence":0,"language":"en"},{"confidence":0,"language":"en"}]' ]
    [ "$(ask detect -d q=a -o /dev/null -w '%{http_code}')" = 400 ]
    [ "$(ask languages)" = '[{"code":"en","name":"English","targets":["xx"]},{"code":"xx","name":"xx","targets":["en"]}]' ]
    [ "$(ask health)" = '{"status":"ok"}' ]
    [ "$(ask /health)" = '{"status":"ok"}' ] # two slashes
    ask metrics >metrics
    [ -z "$(grep -vE '^(# (HELP|TYPE) tf_serve_[a-z_]+ .*|tf_serve_[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+)$' metrics)" ]
    grep -q '^tf_serve_sentences_total{model="en-xx"} 70$' metrics
    grep -q '^tf_serve_translate_seconds_count 10$' metrics
    [ ! -s messages ]
}

@test "a text is split into its sentences, and its layout stays" {
    says() { [ "$(client say "$1"; echo x)" = "$2x" ] || { client say "$1" >&2; return 1; }; }
    with_script -p 1
    says $'One.  Two, Dr. Smith?\n\n  Three.\t Four\n' \
        $'<One.>  <Two, Dr. Smith?>\n\n  <Three.>\t <Four>\n'
    says '一。二。' '<一。> <二。>'
    [ "$(client say "$(printf 'word %.0s' {1..150})" | tr -cd '<')" = '<<' ]
    stop
    with_script -p 1 --no-split
    says 'One. Two.' '<One. Two.>'
    stop
    with_script -p 1 --max-chars 5
    says 'one two' '<one> <two>'
}

@test "errors are JSON, with their status" {
    serve tf-serve en-xx="$MODEL" fr-xx="$MODEL" -l 127.0.0.1:0 -p 1 --max-length 6
    expect() { # STATUS ERROR CURL-ARGUMENTS
        output=$(ask "${@:3}" -w '\n%{http_code}')
        [ "$(head -1 <<<"$output" | jq -r .error) ${output##*$'\n'}" = "$2 $1" ] ||
            { echo "$output" >&2; return 1; }
    }
    expect 400 'Invalid request: missing q parameter' translate -d source=en
    expect 400 'Invalid request: missing q parameter' translate -X POST
    expect 400 'Invalid request: q is not UTF-8' 'translate?q=%ff' -X POST
    expect 400 'Invalid request: not a form (JSON needs Content-Type: application/json)' \
        translate -d '{"q": "a", "source": "en", "target": "xx"}'
    expect 400 'Invalid request: missing target parameter' translate -d 'q=a&source=en'
    expect 400 'Invalid request: missing source parameter' translate -d 'q=a&source=&target=xx'
    expect 400 'en to de is not supported' translate -d 'q=a&source=en&target=de'
    expect 400 'source: languages are not detected; name the language' \
        translate -d 'q=a&source=auto&target=xx'
    expect 400 'format: html is not supported: tf-serve runs without --alignment' translate -d 'q=a&source=en&target=xx&format=html'
    expect 400 'Invalid request: format is not text or html' \
        translate -d 'q=a&source=en&target=xx&format=pdf'
    expect 400 'Invalid request: q is not a text or a list of texts' \
        translate -H 'Content-Type: application/json' -d '{"q": 3}'
    # What would end at a NUL is refused; q is taken with it.
    for field in source target format; do
        expect 400 "Invalid request: $field has a NUL" translate \
            -d "q=a&source=en&target=xx&format=text&$field=en%00x"
        expect 400 "Invalid request: $field has a NUL" translate -H 'Content-Type: application/json' \
            -d '{"q": "a", "source": "en", "target": "xx", "'$field'": "en\u0000x"}'
    done
    expect 400 'json: byte 5: text with NUL' translate -H 'Content-Type: application/json' \
        -d '{"q\u0000": "a", "source": "en", "target": "xx"}'
    expect 400 'too many tokens: source of 7 tokens, --max-length allows 6' \
        translate -d 'q=a b c a b c a&source=en&target=xx'
    expect 404 'no such path' nothing
    expect 404 'no such path' /metrics # a second slash, past the rule of a proxy
    expect 405 'use POST' translate
    expect 405 'use GET' health -d x
    expect 415 'the content is encoded (Content-Encoding); send it as it is' \
        translate -H 'Content-Encoding: gzip' --data-binary @<(gzip <<<'q=a&source=en&target=xx')
    output=$(ask translate -X OPTIONS -i)
    expect_contains "$output" "204"
    expect_contains "$output" "Access-Control-Allow-Origin: *"
    expect_contains "$output" "Access-Control-Max-Age: 86400"
    # Of a list, the others are translated.
    output=$(ask translate -H 'Content-Type: application/json' \
        -d '{"q": ["a b", "b\n\na b c a b c a"], "source": "en", "target": "xx"}')
    [ "$(jq -c '[.errors[] | [.index, .line, .status]]' <<<"$output")" = '[[1,3,"too many tokens"]]' ]
}

@test "wrong operands, models and addresses are errors in one line" {
    t 2 tf-serve "$MODEL"
    expect_error "not of the form SOURCE-TARGET=FILE"
    t 2 tf-serve en-pt-BR="$MODEL"
    expect_error "as en:pt-BR"
    t 2 tf-serve 'e"n-xx'="$MODEL"
    expect_error "a language is a label of 1 to "
    t 2 tf-serve en-xx="$MODEL" en-xx="$MODEL" -l 127.0.0.1:0
    expect_error "two models from en to xx"
    t 2 tf-serve en-xx="$MODEL" -l host.example:0
    expect_error "--listen host.example:0: names are not looked up"
    t 2 tf-serve en-xx="$MODEL" -l 8080
    expect_error "--listen 8080: not of the form ADDRESS:PORT, such as 127.0.0.1:8080"
    t 2 tf-serve en-xx="$MODEL" -l 127.0.0.1:65536
    expect_error "--listen 127.0.0.1:65536: port: "
    mkfifo pipe
    t 1 tf-serve en-xx=pipe -l 127.0.0.1:0 -p 1
    expect_contains "$stderr" "tf-serve: pipe: not a regular file"
    t 1 tf-serve en-xx=none -l 127.0.0.1:0 -p 1
    [ "$stderr" = "tf-serve: none: No such file or directory
tf-serve: none: its pipeline ended before it was ready" ]
    t 1 tf-serve en-xx="$MODEL" -l 127.0.0.1:0 -p 1 --alternatives 3 --beam 2
    [ "$stderr" = "tf-decode: --alternatives 3: not less than --beam 2 (use -k 4)
tf-serve: $MODEL: its pipeline ended before it was ready" ]
}

@test "an address that cannot be written is an error; a reader of it may leave" {
    sh_t 1 'timeout 60 tf-serve en-xx="$MODEL" -l 127.0.0.1:0 -p 1 >/dev/full'
    expect_error "tf-serve: stdout: write: No space left on device"
    serve tf-serve en-xx="$MODEL" -l 127.0.0.1:0 -p 1
    stop
    tf-serve en-xx="$MODEL" -l "${url#http://}" -p 1 > >(:) 2>messages 3>&- &
    server=$!
    answers() { ask health >/dev/null 2>&1 || ! kill -0 "$server" 2>/dev/null; }
    wait_for answers
    kill "$server"
    ends 0
    [ ! -s messages ]
}

@test "no client harms another" {
    # shellcheck disable=SC2016 # A child that is not the service's own ends meanwhile.
    serve bash -c 'sleep 0.2 & exec tf-serve "$@"' sh en-xx="$MODEL" -l 127.0.0.1:0 -p 1 \
        --patience 1 --max-body 10k
    client hostile 1
    kill -TERM "$server"
    ends 0
}

@test "each of many clients gets its own answers, though some die" {
    serve tf-serve en-xx="$MODEL" -l 127.0.0.1:0 -p 2 -b 3 --max-extra 5
    tf-translate -m "$MODEL" --max-extra 5 "$LINES_TXT" | paste "$LINES_TXT" - | sed '/^\t/d' >pairs
    local few=${TF_SAN:+96}
    client mixed 12 "${TF_TEST_REQUESTS:-${few:-300}}" pairs
    kill -TERM "$server"
    ends 0
    [ ! -s messages ]
}

@test "lines of clients that have left, or are late, leave the queue; long requests let others pass" {
    with_script -p 1 -b 2 --queue 1000
    client leave 20
    client fair
}

@test "a pipeline gets the shortest of its sentences first, and answers are in their order" {
    with_script -p 1
    ask translate -d 'q=c d e' -d 'q=a' -d 'q=b c' -d source=en -d target=xx >answer
    expect_contains "$(<answer)" '["<c d e>","<a>","<b c>"]'
    [ "$(tail -n 3 bin/lines)" = $'a\nb c\nc d e' ]
}

@test "a full queue, and too many connections" {
    with_script -p 1 --queue 40 --connections 20 --patience 1
    client full
    client fill_connections 19
    client fill_connections 40
}

@test "pipelines share a model that was read once, and outlive what has read it" {
    reads() { # the processes of a group that have read the model, and what they are
        pgrep -g "$1" -f -- --copies | wc -l
    }
    pipelines() { pgrep -P "$server" tf-pipeline; }
    cp "$MODEL" model
    # Whatever started it may ignore SIGCHLD.
    serve env --ignore-signal=CHLD tf-serve en-xx=model -l 127.0.0.1:0 -p 3 --max-extra 5
    tf-translate -q -m "$MODEL" --max-extra 5 "$LINES_TXT" >want
    copier=$(pgrep -P "$server" tf-copier)
    [ "$(reads "$copier")" -eq 2 ] # a tool for text, one for the model
    three() { [ "$(pipelines | wc -l)" -eq 3 ]; }
    wait_for three
    mapfile -t pipelines < <(pipelines)
    for pipeline in "${pipelines[@]}"; do
        [ "$(reads "$pipeline")" -eq 3 ]
        [ -z "$(pgrep -P "$pipeline")" ] # it has started none of them
    done
    # One of a pipeline's ends: another takes its place.
    kill -KILL "$(pgrep -g "${pipelines[0]}" -f 'tf-decode.*--copies')"
    other() { three && ! kill -0 "${pipelines[0]}" 2>/dev/null; }
    wait_for other
    [ "$(pgrep -P "$server" tf-copier)" = "$copier" ]
    # What has read the model ends: the pipelines stay, and the next needs it again.
    kill -KILL "$(pgrep -P "$copier" -f 'tf-decode.*--copies')"
    client texts "$LINES_TXT" | diff want -
    for pipeline in $(pipelines); do kill -KILL "$pipeline"; done
    client texts "$LINES_TXT" | diff want -
    [ "$(pgrep -P "$server" tf-copier)" != "$copier" ]
    # What has ended, and nobody needs any more, is named.
    kill -KILL "$(pgrep -P "$(pgrep -P "$server" tf-copier)" -f 'tf-decode.*--copies')"
    kill -HUP "$server"
    wait_for grep -q '^tf-serve: tf-decode: ended by signal 9' messages
    # What replaces the model cannot be read: pipelines that end are made again with that of before.
    head -c 300000 "$MODEL" >broken && cp broken new && mv new model
    kill -HUP "$server"
    wait_for grep -q 'model: cannot be used; the model of before stays' messages
    for pipeline in $(pipelines); do kill -KILL "$pipeline"; done
    client texts "$LINES_TXT" | diff want -
    kill -TERM "$server"
    ends 0
    # And what is wrong with it; besides, the lines of before.
    [ "$(grep -cv -e 'a pipeline ended; starting another' -e 'all pipelines have read it again' \
        -e 'tf-decode: ended by signal 9' messages)" -eq 2 ]
    # One message says what is wrong; the tools after the one that fails are silent.
    t 1 tf-serve en-xx=broken -l 127.0.0.1:0 -p 3
    expect_contains "$stderr" "tf-decode: broken: truncated after record "
    expect_contains "$stderr" "tf-serve: broken: its pipeline ended before it was ready"
    [ "$(wc -l <<<"$stderr")" -eq 2 ]
}

@test "a deadline ends what takes too long" {
    with_script -p 1 --timeout 0.4
    client late
}

@test "a pipeline that ends is started again, and its lines are sent again once" {
    with_script -p 2 -b 4
    client ends
    expect_contains "$(<messages)" "model: a pipeline ended; starting another"
}

@test "a pipeline that never gets ready, or never ends, is ended" {
    with_script -p 1 --start-timeout 2 --timeout 0.3
    only() { [ "$(pgrep -cP "$server" tf-pipeline)" -eq 1 ]; }
    echo stay >bin/model
    client during "$server" 0 '<a>' '<staya>'
    echo 2 >bin/model
    client during "$server" 0 '<staya>' '<2a>'
    wait_for only
    echo hang >bin/model
    client during "$server" 0.5 '<2a>'
    wait_for grep -q 'model: cannot be used; the model of before stays' messages
    stop
    echo hang >bin/model
    t 1 env TF_SANDBOX=no bin/tf-serve en-xx=model -l 127.0.0.1:0 -p 1 --start-timeout 0.5
    expect_contains "$stderr" "tf-serve: model: its pipeline ended before it was ready"
}

@test "the markup of HTML stays" {
    tf-convert "$MODEL" --to tfm --search alignment-head=1,2 -o aligning.tfm
    serve tf-serve en-xx=aligning.tfm -l 127.0.0.1:0 -p 1 --alignment --alternatives 1
    printf '%s\n' '<p>a <b>b c</b></p><p class="x">c</p>' '<i>b</i> <code>b</code> c&amp;' '<br>' >in
    tf-translate -q --lang en --html -m aligning.tfm in >want
    jq -nR '{q: [inputs], source: "en", target: "xx", format: "html", alternatives: 1}' in >request
    ask translate -H 'Content-Type: application/json' -d @request >answer
    jq -r '.translatedText[]' answer | diff want -
    # shellcheck disable=SC2016
    jq -e '[.alternatives[][] | gsub("<[^>]*>"; "") | length] | length == 2' answer
    output=$(ask translate --data-urlencode 'q@in' -d source=en -d target=xx -d format=html)
    [ "$(jq -r .translatedText <<<"$output" | tr -dc '<>/')" = "$(tr -dc '<>/' <in)" ]
    [ "$(ask detect -d q=a)" = '[{"confidence":0,"language":"en"}]' ]
    [ "$(ask detect -d x=a)" = '{"error":"Invalid request: missing q parameter"}' ]
    [ ! -s messages ]
}

@test "which words come from which, and alternatives that differ, on request" {
    with_script -p 1 --alignment --alternatives 3
    output=$(ask translate -d 'q=no%0Aequal&source=en&target=xx&alternatives=3')
    [ "$(jq -c .alternatives <<<"$output")" = '["<no>1\n<equal>1","<no>2\n<equal>"]' ]
    output=$(ask translate -d 'q=equal&source=en&target=xx&alternatives=3')
    [ "$(jq -c .alternatives <<<"$output")" = '["<equal>1"]' ]
    output=$(ask translate -d 'q=We see. I go.%0Ano&source=en&target=xx&alignment=true')
    [ "$(jq -r '.alignment[] | "\(.source) \(.target) \(.links)"' <<<"$output")" = \
        "We see. <We see.> [[0,1],[1,0]]
I go. <I go.> [[0,1],[1,0]]
no <no> [[0,0]]" ]
    output=$(ask translate -H 'Content-Type: application/json' \
        -d '{"q": ["bad", "", "a"], "source": "en", "target": "xx", "alignment": true}')
    [ "$(jq -c '[.alignment[] | length]' <<<"$output")" = '[0,0,1]' ]
    for field in alignment=false format=html; do
        output=$(ask translate -d "q=a&source=en&target=xx&$field")
        [ "$(jq -c keys <<<"$output")" = '["translatedText"]' ]
    done
    for request in 'q=a&source=en&target=xx&alignment=1' '{"alignment":1}'; do
        type=application/x-www-form-urlencoded
        [[ $request != '{'* ]] || type=application/json
        output=$(ask translate -H "Content-Type: $type" -d "$request")
        [ "$output" = '{"error":"Invalid request: alignment is not true or false"}' ]
    done
    stop
    with_script -p 1
    output=$(ask translate -d 'q=a&source=en&target=xx&alignment=true')
    [ "$output" = '{"translatedText":"<a>"}' ]
}

@test "SIGHUP: the new model without a lost request; the old one if it is broken" {
    with_script -p 2
    echo 2 >bin/model
    client during "$server" 0.3 '<a>' '<2a>'
    echo broken >bin/model
    client during "$server" 0.3 '<2a>'
    wait_for grep -q 'model: cannot be used; the model of before stays' messages
    echo 3 >bin/model
    client during "$server" 0.3 '<2a>' '<3a>'
}

@test "SIGHUP while the first pipelines start" {
    with_script -p 1
    stop
    echo late >bin/model
    TF_SANDBOX=no serve bin/tf-serve en-xx=model -l 127.0.0.1:0 -p 1
    new() { [ "$(client say a)" = '<2a>' ]; }
    wait_for new
}

@test "SIGHUP in the sandbox: a model that replaces another" {
    cp "$MODEL" model
    serve tf-serve en-xx=model -l localhost:0 -p 1
    text=$(ask translate -d 'q=a b c&source=en&target=xx')
    named() { # the file and the fingerprint that the service names
        ask metrics | grep -qxF "tf_serve_model_info{model=\"en-xx\",file=\"model\",hash=$(
            tf-info --json model | jq .model)} 1"
    }
    named
    tf-convert --to tfm --dtype f16 "$MODEL" -o new && mv new model
    old=$(pgrep -P "$server" tf-pipeline)
    kill -HUP "$server"
    replaced() { [ "$(pgrep -cP "$server" tf-pipeline)" -eq 1 ] && ! pgrep -P "$server" | grep -qx "$old"; }
    wait_for replaced
    named
    [ "$(ask translate -d 'q=a b c&source=en&target=xx')" = "$text" ]
    wait_for [ -s messages ]
    [ "$(<messages)" = "tf-serve: model: all pipelines have read it again" ]
}

@test "a file of an option, in the sandbox; two lengths of one request" {
    echo none >words
    tf-convert --to tfm --lang xx --target-lang en-GB "$MODEL" -o xxen.tfm
    serve tf-serve en-xx=xxen.tfm -l 127.0.0.1:0 -p 2 --forbid words
    [ "$(ask health)" = '{"status":"ok"}' ]
    # Its languages the wrong way round: once, whatever the number of pipelines.
    [ "$(<messages)" = \
        "tf-serve: warning: xxen.tfm: translates from 'xx' to 'en-GB', but serves en to xx" ]
    run ask health -H 'Content-Length: 0' -H 'Transfer-Encoding: chunked'
    [ "$output" != '{"status":"ok"}' ]
}

@test "a glossary for some languages, which SIGHUP reads again" {
    printf 'b\tc c\n' >terms
    serve tf-serve en-xx="$MODEL" xx-en="$MODEL" -l 127.0.0.1:0 -p 2 --terms en-xx=terms -k 10
    says() { # what the service prints with a glossary, and without
        [ "$(ask translate -d 'q=a b&source=en&target=xx' | jq -r .translatedText)" = "$1" ] &&
            [ "$(ask translate -d 'q=a b&source=xx&target=en' | jq -r .translatedText)" = "$2" ]
    }
    counted() { [ "$(ask languages | jq -c '[.[].terms]')" = "$1" ]; }
    with() { tf-translate -q -k 10 -m "$MODEL" "$@" <<<'a b'; }
    plain=$(with)
    first=$(with --terms terms)
    [ "$first" != "$plain" ]
    says "$first" "$plain"
    counted '[{"xx":1},null]'
    printf 'a\tc a\nb\tb\n' >new && mv new terms
    second=$(with --terms terms)
    [ "$second" != "$first" ]
    kill -HUP "$server"
    wait_for counted '[{"xx":2},null]'
    says "$second" "$plain"
    stop
    t 2 tf-serve en-xx="$MODEL" -l 127.0.0.1:0 --terms en-de=terms
    expect_error "--terms en-de=terms: no model has these languages"
    t 2 tf-serve en-xx="$MODEL" -l 127.0.0.1:0 --forbid -
    expect_error "--forbid -: not a file"
    t 2 tf-serve en-xx="$MODEL" -l 127.0.0.1:0 --terms en-xx=-
    expect_error "--terms en-xx=-: each pipeline reads a file, not stdin"
    t 2 tf-serve en-xx="$MODEL" -l 127.0.0.1:0 --terms en-xx=/dev/stdin
    expect_error "--terms en-xx=/dev/stdin: each pipeline reads a file, not stdin"
    t 2 tf-serve en-xx="$MODEL" -l 127.0.0.1:0 --terms terms
    expect_error "--terms: 'terms': not of the form SOURCE-TARGET=FILE"
    t 1 tf-serve en-xx="$MODEL" -l 127.0.0.1:0 -p 1 --terms en-xx=none
    expect_contains "$stderr" "none: No such file or directory"
}

@test "SIGTERM: what has been asked is answered" {
    with_script -p 1
    client term "$server"
    ends 0
}

@test "a name of which the model leaves nothing stays, as the others do" {
    with_script -p 1 --placeholders
    [ "$(client say 'nothing {a}')" = '{a}' ]
    [ "$(client say 'see {a}')" = '<see {a}>' ]
}

@test "addresses, unknown characters and terms of a request, as tf-translate keeps them" {
    tf-convert "$MODEL" --to tfm --search alignment-head=1,2 -o aligning.tfm
    printf '%s\n' 'a b see https://example.org/x?a=b c' 'b {name} a' 'a ☃ b 雪' >in
    printf 'b \0 c a\nc\n' >>in # what follows a NUL is translated, too
    serve tf-serve en-xx=aligning.tfm -l 127.0.0.1:0 -p 1 --no-split --placeholders --copy-unk
    tf-translate -q -m aligning.tfm --no-split --placeholders --copy-unk in 2>notes >want
    grep -q 'https://example.org/x?a=b' want
    grep -q '☃' want
    client texts in | diff want -
    # The terms of one request; another has none, or its own.
    printf 'b\tB b\n' >terms
    tf-translate -q -m aligning.tfm --no-split --placeholders --copy-unk --glossary terms in \
        2>notes >want
    with() { # GLOSSARY Q
        ask translate -H 'Content-Type: application/json' \
            -d '{"source": "en", "target": "xx", "q": '"$2"', "glossary": '"$1}"
    }
    with '{"b": "B b"}' "$(jq -nRc '[inputs]' in)" | jq -r '.translatedText[]' | diff want -
    with null '["c"]' | jq -r '.translatedText[]' | diff <(tail -n 1 want) -
    expect() { output=$(with "$1" "$2" | jq -r .error); [ "$output" = "$3" ] || { echo "$output"; return 1; }; }
    expect '["b"]' '"a"' 'Invalid request: glossary is not one object of texts'
    expect '{"b": 1}' '"a"' 'Invalid request: glossary is not an object of texts'
    expect '{"b": "x\u0000y"}' '"a"' 'Invalid request: glossary is not an object of texts'
    expect '{"b": " "}' '"a"' 'Invalid request: glossary: a term or a translation has no text, or a term is there twice'
    expect '{"b": "'"$(printf 'x%.0s' {1..201})"'"}' '"a"' 'glossary: at most 1000 terms of 200 bytes'
    with '{"'"$(printf 'x%.0s' {1..200})"'": "x"}' "[\"c$(printf ' %.0s' {1..2700})\"]" |
        jq -r '.translatedText[]' | sed 's/ *$//' | diff <(tail -n 1 want) -
}

@test "a model with a segmenter of its own for targets" {
    local golden=$TOP/tests/golden/marian
    tf-convert "$golden/two.npz.gz" --vocab "$golden/en.spm" --vocab-target "$golden/de.spm" \
        -o two.tfm 2>/dev/null
    head -3 "$golden/en" >in
    tf-translate -q --no-split -m two.tfm --max-extra 5 in >want
    serve tf-serve en-xx=two.tfm -l 127.0.0.1:0 -p 1 --no-split --max-extra 5 --copy-unk
    client texts in | diff want -
}

@test "a socket of systemd" {
    serve "$TF_PYTHON" -I "$TOP/tests/cli/serve.py" activated http://-:0 tf-serve en-xx="$MODEL" -p 1 -t 1
    output=$(ask translate -d 'q=a b c&source=en&target=xx')
    expect_contains "$output" translatedText
}

@test "the example of nginx: TLS, users, a limit for each client" {
    natively
    need nginx openssl
    serve tf-serve en-xx="$MODEL" -l 127.0.0.1:0 -p 1
    port=$("$TF_PYTHON" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
        -subj /CN=localhost -keyout tf-serve.key -out tf-serve.crt 2>log
    echo "alice:$(openssl passwd -apr1 secret)" >tf-serve.users
    {
        echo "user $(id -un) $(id -gn); daemon off; pid $T/pid; error_log $T/error.log; events {}"
        echo "http { access_log off;"
        for d in client_body proxy fastcgi uwsgi scgi; do echo "${d}_temp_path $T/$d;"; done
        sed "s|/etc/nginx/|$T/|; s|127.0.0.1:8080|${url#http://}|; s|listen 443|listen 127.0.0.1:$port|" \
            "$TOP/examples/serve/nginx.conf"
        echo '}'
    } >nginx.conf
    nginx -c "$T/nginx.conf" 2>log 3>&- &
    nginx=$!
    local service=$url
    url=https://127.0.0.1:$port
    answers() { curl -sk "$url" >/dev/null; }
    wait_for answers
    [ "$(curl -sk -o /dev/null -w '%{http_code}' "$url/languages")" = 401 ]
    [ "$(curl -sk -u alice:secret "$url/translate" -d 'q=a b c&source=en&target=xx')" = \
        "$(curl -s "$service/translate" -d 'q=a b c&source=en&target=xx')" ]
    for path in metrics health; do
        [ "$(curl -sk -o /dev/null -w '%{http_code}' "$url/$path")" = 200 ]
    done
    for _ in $(seq 80); do echo "url = $url/languages"; done |
        curl -sk -u alice:secret -K - -w '%{http_code}\n' -o /dev/null --parallel >codes || true
    kill "$nginx"
    wait "$nginx" || true
    grep -q 429 codes
}

@test "the page in a browser: only the newest answer, by keyboard, on a phone, busy and gone" {
    natively
    need chromium
    printf 'a\tb\nc\td\n' >terms
    with_script -p 1 -b 1 --terms en-xx=terms --queue 3 --alternatives 2 --timeout 3 \
        --alignment xx-en=model
    timeout 120 "$TF_PYTHON" -I "$TOP/tests/cli/page.py" "$url" "$server" "$T/browser"
}
