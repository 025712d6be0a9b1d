/* Members of a request's body, as phxd takes them into fixed structs. The request is a fake one:
 * each refusal is one answer, each other one none.
 * Parsers: cmd/phxd/parse.c */
#include "fuzz/fuzz.h"
#include "phxd/parse.c" /* a part of a program, not of the library */

static unsigned refused;
static const char *query;

void phx_http_reply_error(struct phx_http_request *q, int code, const char *text)
{
	(void)q;
	fuzz_never(code != -EINVAL || !text[0]);
	refused++;
}

const char *phx_http_query(const struct phx_http_request *q, const char *name)
{
	(void)q, (void)name;
	return query;
}

static void one(bool taken)
{
	fuzz_never(refused != !taken);
	refused = 0;
}

static void take_texts(const json_t *j)
{
	char name[PHX_NAME_MAX] = "", token[PHX_SHA256_HEX], words[16];
	one(TAKE(NULL, j, "name", name));
	for (const char *p = name; *p; p++)
		fuzz_never((unsigned char)*p < 0x20 || *p == 0x7f);
	one(parse_token(NULL, j, token));
	parse_words(words, sizeof(words), phx_json_str(j, "text", ""));
	for (const char *p = words; *p; p++)
		fuzz_never((unsigned char)*p < 0x20 || *p == 0x7f);
}

static void take_lists(const json_t *j)
{
	struct phx_list macs = {0}, jobs = {0};
	struct phx_facts facts = {0};
	int say = 0;
	one(parse_macs(NULL, j, &macs));
	one(parse_kill_jobs(NULL, j, &say, &jobs));
	PHX_LIST_EACH(const struct phx_job_ref, ref, &jobs)
		fuzz_never(!refused && ref > PHX_LIST_AT(&jobs, struct phx_job_ref, 0) &&
			   ref->id < ref[-1].id && say == PHX_JOBS_NAMED);
	one(parse_record(NULL, j, "facts", &phx_facts_record, &facts));
	phx_record_fini(&phx_facts_record, &facts);
	phx_list_fini(&macs);
	phx_list_fini(&jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const known[] = {"name",  "token", "text", "macs",  "kill_jobs",
					    "facts", "env",   "wait", "limit", "force"};
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	PHX_AUTO_JSON json_t *j = NULL;
	bool force;
	int env = 0;
	int64_t wait = 5;
	uint64_t limit = 0;
	if (phx_json_parse(text, strlen(text), &j, NULL) < 0 || !json_is_object(j))
		return 0;
	take_texts(j);
	take_lists(j);
	one(parse_bool(NULL, j, "force", &force));
	one(parse_enum(NULL, j, "env", &phx_node_env_names, &env));
	one(parse_number(NULL, j, "wait", 0, 60000, &wait));
	fuzz_never(wait < 0 || wait > 60000);
	one(parse_only(NULL, j, known, PHX_ARRAY_SIZE(known)));
	query = json_string_value(json_object_get(j, "limit"));
	one(parse_query_number(NULL, "limit", 1000, 10, &limit));
	fuzz_never(limit > 1000);
	return 0;
}
