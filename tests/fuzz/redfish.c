/* Answers of a BMC that speaks Redfish. The first line is "OP SYSTEM" (SYSTEM: "-" none, or a
 * path), each other one an answer: "STATUS BODY". The client is a fake one that gives them one by
 * one.
 * Parsers: lib/power/redfish.c */
#include <errno.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"
#include "http/http.h"
#include "power/driver.h"

static char *answers;

int phx_http_client_new(const struct phx_http_client_config *config, struct phx_http_client **ret,
			struct phx_err *err)
{
	(void)config, (void)err;
	*ret = NULL;
	return 0;
}

void phx_http_client_free(struct phx_http_client *c)
{
	(void)c;
}

void phx_http_response_fini(struct phx_http_response *r)
{
	free(r->body);
	*r = (struct phx_http_response){0};
}

int phx_http_call(struct phx_http_client *c, const char *method, const char *path,
		  const json_t *json, uint32_t timeout_ms, struct phx_http_response *ret,
		  struct phx_err *err)
{
	char *line = answers, *body;
	(void)c, (void)json, (void)timeout_ms;
	fuzz_never(!method[0] || path[0] != '/');
	if (!*line)
		return phx_err_set(err, -ECONNREFUSED, "nobody there");
	answers = fuzz_line(answers);
	long status = strtol(line, &body, 10);
	if (!status)
		return phx_err_set(err, -ETIMEDOUT, "no answer");
	body += *body == ' ';
	*ret = (struct phx_http_response){
		.status = status, .body = fuzz_text(body, strlen(body)), .n = strlen(body)};
	return 0;
}

/* The password's file, which is nobody else's. */
static void set_secret(struct phx_bmc *bmc)
{
	const char *path = fuzz_file("secret", "calvin\n", 7);
	fuzz_never(chmod(path, 0600) < 0 || PHX_STR_SET(bmc->password_file, path) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct phx_bmc bmc = {.address = "10.0.0.9", .user = "root"};
	enum phx_power_state state = PHX_POWER_UNKNOWN;
	struct phx_err err = {0};
	answers = fuzz_line(text);
	unsigned op = PHX_POWER_ON + strtoul(text, NULL, 10) % PHX_POWER_BOOT_DISK;
	const char *system = strchr(text, ' ');
	if (system && strcmp(system, " -"))
		PHX_STR_SET(bmc.system, system + 1);
	if (phx_power_redfish.check(&bmc, &err) == 0)
		fuzz_never(1); /* it has no password */
	err = (struct phx_err){0};
	set_secret(&bmc);
	if (phx_power_redfish.check(&bmc, &err) < 0) {
		fuzz_never(!err.text[0]);
		return 0;
	}
	int r = op == PHX_POWER_STATUS
		? phx_power_redfish.status(&bmc, 1000, &state, &err)
		: phx_power_redfish.order(&bmc, (enum phx_power_op)op, 1000, &err);
	fuzz_never(r < 0 && !err.text[0]);
	return 0;
}
