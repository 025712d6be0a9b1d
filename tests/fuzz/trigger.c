/* Triggers: the first line is one as a client sends it, JSON; the second a path, as a watcher tells
 * it; the third a word of a workflow. What is taken keeps to its limits; a path that meets is
 * as deep as its pattern; what asks for nothing stays as it is.
 * Parsers: lib/flow/glob.c */
#include "base/json.h"
#include "flow/glob.h"
#include "flow/trigger.h"
#include "fuzz/fuzz.h"

static void check_spec(const struct phx_trigger_spec *spec, enum phx_trigger_kind kind)
{
	fuzz_never(kind == PHX_TRIGGER_FILE && phx_glob_check(spec->when.file, NULL) < 0);
	fuzz_never(kind == PHX_TRIGGER_TIME && spec->when.every_ms < PHX_TRIGGER_EVERY_MIN_MS);
	fuzz_never(kind == PHX_TRIGGER_COMMAND && !spec->when.command.n);
	fuzz_never(spec->at_once > PHX_TRIGGER_RUNS_MAX || spec->queue_max > PHX_TRIGGER_QUEUE_MAX);
}

static void check_word(const char *word, const char *path)
{
	struct phx_trigger t = {.kind = PHX_TRIGGER_FILE, .name = "t"};
	struct phx_trigger_cause c = {.what = (char *)(uintptr_t)path, .digest = "1"};
	struct phx_trigger_when when = {0};
	struct phx_list *vars = &when.command; /* any list */
	if (phx_trigger_vars(&t, &c, vars) < 0)
		return;
	PHX_AUTO_FREE char *filled = phx_trigger_fill(word, vars);
	fuzz_never(!filled);
	fuzz_never(!phx_trigger_asks(word) && strcmp(word, filled) != 0);
	PHX_LIST_EACH(struct phx_text, text, vars)
		free(text->text);
	phx_list_fini(vars);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *all = fuzz_text(data, n);
	char *rest = all, *json = strsep(&rest, "\n"), *path = rest ? strsep(&rest, "\n") : NULL,
	     *word = rest;
	struct phx_trigger_spec spec;
	struct phx_err err = {0};
	enum phx_trigger_kind kind;
	if (phx_json_text_to_record(&phx_trigger_spec_record, json, &spec, &err) < 0)
		return 0;
	if (phx_trigger_spec_check(&spec, &kind, &err) == 0)
		check_spec(&spec, kind);
	else
		fuzz_never(!err.text[0]);
	bool below = path && strlen(path) < 200 && phx_beneath_check(path, NULL) == 0;
	bool meets = path && phx_glob_meets_path(spec.when.file, path);
	/* each part of the path is met by one of the pattern */
	const char *part;
	unsigned n_path = 0, n_pattern = 0;
	while (path && phx_glob_part(path, n_path, &part))
		n_path++;
	while (phx_glob_part(spec.when.file, n_pattern, &part))
		n_pattern++;
	fuzz_never(meets && n_path != n_pattern);
	if (below && word && strlen(word) < 4096)
		check_word(word, path);
	phx_record_fini(&phx_trigger_spec_record, &spec);
	return 0;
}
