/* Questions to the process that talks to BMCs, by a head that was taken over. Each has an answer;
 * no program runs and no BMC is asked. The first byte is the question, the second the operation.
 * Parsers: lib/power/hands_answer.c */
#include "base/json.h"
#include "base/spawn.h"
#include "fuzz/fuzz.h"
#include "power/hands_internal.h"

/* Programs: the last word of one for anchors is what was asked. */
int phx_run(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err)
{
	(void)ret;
	fuzz_never(!run->dies_with_us);
	return phx_err_set(err, -5, "%s is not run here", run->argv[0]);
}

int phx_run_check(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err)
{
	const char *line = run->argv[0];
	for (size_t i = 0; run->argv[i]; i++)
		line = run->argv[i];
	fuzz_never(!line[0] || line[0] == '-');
	for (const char *at = line; *at; at++)
		fuzz_never(*at < ' ' || *at > '~');
	return phx_run(run, ret, err);
}

void phx_run_result_fini(struct phx_run_result *r)
{
	(void)r;
}

/* Who would send packets is asked whether it could. */
static bool is_sent(const char *text)
{
	struct phx_bmc bmc;
	return phx_json_text_to_record(&phx_bmc_record, text, &bmc, NULL) == 0 &&
		(!strcmp(bmc.driver, "wol") || !strcmp(bmc.driver, "redfish"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct phx_word words[] = {{"true"}, {"word"}};
	static struct phx_list anchor = {.items = words, .n = 2, .cap = 2}, paths;
	static struct phx_hands_config config = {
		.user = "", .bmc_dir = "", .run_dir = "", .paths = &paths, .anchor = &anchor};
	if (n < 2)
		return 0;
	PHX_AUTO_FREE char *text = fuzz_text(data + 2, n - 2);
	struct phx_apart_question q = {.op = data[0] >= 'a' ? (uint32_t)data[0] - 'a' : data[0],
				       .number = 1,
				       .body = text,
				       .n = (uint32_t)(n - 2)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_err err = {0};
	if (q.op == HANDS_power && is_sent(text))
		q.op = HANDS_ready;
	PHX_STR_SET(q.name, phx_enum_name(&phx_power_op_names, data[1] % 16));
	int r = hands_answer(&config, &q, &reply, &err);
	fuzz_never(r > 0 || (r < 0 && !err.text[0]));
	fuzz_never(r == 0 && q.op == HANDS_power); /* there is no BMC */
	fuzz_never(q.op >= N_HANDS_OPS && r == 0);
	return 0;
}
