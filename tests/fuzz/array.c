/* Indices of an array of jobs, as users write them. What is taken has its members within the
 * limits, in order.
 * Parsers: lib/job/array.c */
#include "fuzz/fuzz.h"
#include "job/internal.h"

/* The job becomes its members, whose indices are those of the rows. */
static void make_members(const struct phx_event_job_submit *p)
{
	struct phx_state state = {0};
	struct phx_apply a = {.s = &state};
	uint32_t n = phx_array_size(p);
	struct phx_job *first = phx_list_push(&state.jobs, sizeof(*first));
	fuzz_never(!first);
	first->id = 17;
	if (n <= 100) {
		fuzz_never(phx_array_make(&a, p) < 0 || state.jobs.n != n);
		PHX_LIST_EACH(const struct phx_job, j, &state.jobs)
			fuzz_never(phx_job_words(&state, j)->id != 17 || j->array != 17);
	}
	phx_list_fini(&state.jobs);
}

/* Rows as an event may bring them: "FROM TO STEP" a line. */
static void check_rows(const char *text)
{
	struct phx_event_job_submit p = {0};
	struct phx_index_row row;
	struct phx_err err = {0};
	for (; p.array_rows.n < 8 && sscanf(text, "%u %u %u", &row.from, &row.to, &row.step) == 3;
	     text += strcspn(text, "\n"), text += *text == '\n') {
		struct phx_index_row *to = phx_list_push(&p.array_rows, sizeof(*to));
		fuzz_never(!to);
		*to = row;
	}
	if (p.array_rows.n && phx_array_check(&p, &err) == 0)
		make_members(&p);
	else
		fuzz_never(p.array_rows.n && !err.text[0]);
	phx_list_fini(&p.array_rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct phx_event_job_submit p = {0};
	struct phx_err err = {0};
	uint32_t at_once = 0;
	if (phx_array_parse(text, &p.array_rows, &at_once, &err) == 0) {
		fuzz_never(!phx_array_is(&p) || phx_array_check(&p, &err) < 0);
		uint64_t members = 0, last = 0;
		PHX_LIST_EACH(const struct phx_index_row, row, &p.array_rows) {
			fuzz_never(!row->step || row->to < row->from || row->to > 1000000000);
			fuzz_never(members && row->from <= last);
			members += (row->to - row->from) / row->step + 1;
			last = row->to;
		}
		fuzz_never(members > 10000 || members != phx_array_size(&p));
		make_members(&p);
	} else {
		fuzz_never(!err.text[0]);
	}
	phx_list_fini(&p.array_rows);
	check_rows(text);
	return 0;
}
