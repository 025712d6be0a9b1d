/* Rows of the journal on their way out of the head: a line with the kind, one with the event, and
 * the rest what came of it. Texts in both were written by nodes and services, too. Whatever they
 * are, fields of the system's log have the names of the table, one value each and on one line, and
 * the JSON of programs is one line that can be read.
 * Parsers: lib/outlet/news.c lib/outlet/clean.c */
#include <jansson.h>

#include "fuzz/fuzz.h"
#include "outlet/news.h"

static const char *const names[] = {
	"MESSAGE=",   "PRIORITY=",  "SYSLOG_IDENTIFIER=phxd", "MESSAGE_ID=",
	"PHX_EVENT=", "PHX_SEQ=42", "PHX_TIME_MS=",           "PHX_BY=",
	"PHX_NODE=",  "PHX_RE=",
};

static bool is_field(const char *text)
{
	bool is = false;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		is = is || phx_str_starts(text, names[i]);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		is = is && *c >= ' ' && *c != 0x7f;
	return is;
}

static void check(const struct phx_news *n)
{
	PHX_AUTO(phx_news_fields_fini) struct phx_list fields = {0};
	fuzz_never(phx_news_fields(n, &fields) < 0 || fields.n > PHX_NEWS_FIELDS_MAX);
	PHX_LIST_EACH(struct phx_text, t, &fields)
		fuzz_never(!is_field(t->text));
	json_t *j = json_loads(n->json, JSON_REJECT_DUPLICATES, NULL);
	fuzz_never(!j || strchr(n->json, '\n') || strlen(n->json) >= PHX_NEWS_JSON_MAX);
	json_decref(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_word words[] = {{"re_use"}, {"tick"}};
	const struct phx_list kinds = {words, 2, 2}, none = {0};
	bool asked[PHX_EV_COUNT_] = {false};
	PHX_AUTO_FREE char *text = strndup((const char *)data, n);
	char *rest = text, *kind = strsep(&rest, "\n"), *event = rest ? strsep(&rest, "\n") : NULL;
	const struct phx_store_event ev = {.seq = 42,
					   .time_ms = 1700000000000,
					   .kind = kind,
					   .node = "n1",
					   .event = event ? event : "",
					   .actions = rest ? rest : ""};
	struct phx_news news = {0};
	struct phx_err err = {0};
	phx_news_ask(&kinds, asked);
	if (!phx_news_may_be(&ev, asked))
		return 0;
	if (phx_news_of(&ev, &news, &err) < 0) {
		fuzz_never(!err.text[0]);
		return 0;
	}
	fuzz_never(phx_news_wanted(&news, &none) == news.asked);
	phx_news_wanted(&news, &kinds);
	check(&news);
	phx_news_fini(&news);
	return 0;
}
