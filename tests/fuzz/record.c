/* Records as JSON, as agents and clients send them and the journal keeps them. The first byte
 * chooses the record. Both ways of reading agree; what is taken is written and read back the same,
 * whole and without what is empty.
 * Parsers: lib/base/json.c lib/base/json_text.c */
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "inventory/inventory.h"
#include "state/event.h"
#include "state/order.h"

static const struct phx_record *const records[] = {
	&phx_event_record, &phx_facts_record, &phx_order_record,   &phx_job_record,
	&phx_node_record,  &phx_role_record,  &phx_monitor_record, &phx_agreement_record,
};

static void read_back(const struct phx_record *rec, const void *obj, char *text)
{
	PHX_AUTO_FREE void *again = calloc(1, rec->size);
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_err err = {0};
	fuzz_never(!text || !again || phx_json_parse(text, strlen(text), &j, &err) < 0);
	fuzz_never(phx_json_to_record(rec, j, again, &err) < 0);
	fuzz_never(!phx_record_equal(rec, obj, again));
	phx_record_fini(rec, again);
	free(text);
}

static void check(const struct phx_record *rec, const void *obj)
{
	PHX_AUTO_FREE void *copy = calloc(1, rec->size);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(rec, obj);
	fuzz_never(!copy || !j || phx_record_copy(rec, copy, obj) < 0);
	fuzz_never(!phx_record_equal(rec, obj, copy));
	phx_record_fini(rec, copy);
	read_back(rec, obj, phx_json_record_text(rec, obj));
	read_back(rec, obj, phx_json_record_text_sparse(rec, obj));
	read_back(rec, obj, phx_json_record_text_least(rec, obj));
}

/* Has the field a name in JSON? A union has those of its cases, a PHX_F_ONEOF those of its
 * values. */
static bool has_name(const struct phx_field *f)
{
	return f->type != PHX_F_CASE && f->type != PHX_F_ONEOF;
}

/* As a list of its own, in which an item that is gone is not written, and without some of its
 * members. */
static void check_parts(const struct phx_record *rec, const void *obj)
{
	const struct phx_list one = {.items = (void *)obj, .n = 1};
	PHX_AUTO_FREE char *text = phx_json_list_text(rec, &one);
	PHX_AUTO_JSON json_t *j = NULL;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_json_less less = {.empty = true};
	fuzz_never(!text || phx_json_parse(text, strlen(text), &j, NULL) < 0);
	fuzz_never(json_array_size(j) != (rec->is_gone && rec->is_gone(obj) ? 0 : 1));
	fuzz_never(phx_json_less_add(&less, rec, "no.such") == 0);
	for (size_t i = 0; i < rec->n_fields && i < PHX_ARRAY_SIZE(less.fields); i += 2)
		fuzz_never(has_name(&rec->fields[i]) &&
			   phx_json_less_add(&less, rec, rec->fields[i].name) < 0);
	for (size_t i = 0; i < rec->n_fields; i++)
		if (rec->fields[i].type != PHX_F_CASE)
			phx_json_put_field(&b, &rec->fields[i], obj, &less);
}

/* As an object first, then as text: one verdict. */
static void read_record(const struct phx_record *rec, const char *text, const json_t *j)
{
	PHX_AUTO_FREE void *obj = calloc(1, rec->size);
	PHX_AUTO_FREE void *other = calloc(1, rec->size);
	struct phx_err err = {0}, other_err = {0};
	fuzz_never(!obj || !other);
	int r = j ? phx_json_to_record(rec, j, obj, &err) : -1;
	int other_r = phx_json_text_to_record(rec, text, other, &other_err);
	fuzz_never((r < 0) != (other_r < 0));
	if (r == 0) {
		check(rec, obj);
		check_parts(rec, obj);
		fuzz_never(!phx_record_equal(rec, obj, other));
	} else {
		fuzz_never((j && !err.text[0]) || !other_err.text[0]);
	}
	phx_record_fini(rec, obj);
	phx_record_fini(rec, other);
}

/* A member that stands twice in what no record reads (the union's part of another kind): the text
 * is passed over there, and the object cannot be made. In nothing else may they differ. */
static bool is_twice_unread(const char *text, size_t n)
{
	PHX_AUTO_JSON json_t *j = NULL;
	return phx_json_parse_answer(text, n, &j, NULL) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct phx_json_shape most = {32, 4096, 0};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	if (n < 2)
		return 0;
	char *text = fuzz_text(data + 1, n - 1);
	n = strlen(text);
	if (phx_json_check_shape(text, n, &most, &err) == 0) {
		phx_json_parse(text, n, &j, &err);
		if (!j && is_twice_unread(text, n)) {
			free(text);
			return 0;
		}
		phx_json_int(j, "id", phx_json_bool(j, "run", !phx_json_str(j, "kind", NULL)));
		read_record(records[data[0] % PHX_ARRAY_SIZE(records)], text, j);
	}
	fuzz_never(!j && !err.text[0]);
	free(text);
	return 0;
}
