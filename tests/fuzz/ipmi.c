/* What ipmitool and FreeIPMI print about a BMC. The first line is "OP TOOL STATUS ADDRESS
 * WORKAROUNDS", what follows is their output, behind a line "--" their errors. They are not run.
 * The same bytes are what a BMC answers its own machine.
 * Parsers: lib/power/ipmi.c lib/power/driver.c */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/spawn.h"
#include "fuzz/fuzz.h"
#include "inventory/internal.h"
#include "power/driver.h"

static int status;
static const char *out, *errout;

int phx_run(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err)
{
	(void)err;
	for (size_t i = 0; run->argv[i]; i++)
		fuzz_never(i > 0 &&
			   !strcmp(run->argv[i], "calvin")); /* everybody can see it there */
	if (status < 0)
		return status == -1 ? -ENOENT : status == -2 ? -ETIMEDOUT : -EIO;
	*ret = (struct phx_run_result){.status = status,
				       .out = fuzz_text(out, strlen(out)),
				       .errout = fuzz_text(errout, strlen(errout))};
	return 0;
}

void phx_run_result_fini(struct phx_run_result *r)
{
	free(r->out);
	free(r->errout);
	*r = (struct phx_run_result){0};
}

/* A BMC that answers its own machine with what comes: a length, and so many bytes. */
struct answers {
	const uint8_t *at, *end;
};

static int answer(void *arg, uint8_t netfn, uint8_t command, const uint8_t *data, size_t n,
		  uint8_t ret[PHX_BMC_ANSWER_MAX])
{
	struct answers *a = arg;
	(void)netfn, (void)command, (void)data, (void)n;
	if (a->at == a->end)
		return -ETIMEDOUT;
	size_t size = *a->at++, left = (size_t)(a->end - a->at);
	size = size < left ? size : left;
	memcpy(ret, a->at, size);
	a->at += size;
	return (int)size;
}

static void read_address(const uint8_t *data, size_t n)
{
	char address[64];
	struct in_addr a;
	struct answers answers = {data, data + n};
	phx_bmc_find_address(&(struct phx_bmc_line){answer, &answers}, address);
	fuzz_never(address[0] && inet_pton(AF_INET, address, &a) != 1);
}

static void ask(const struct phx_bmc *bmc, unsigned op)
{
	enum phx_power_state state = PHX_POWER_UNKNOWN;
	struct phx_err err = {0};
	if (strstr(bmc->address, "calvin") || strstr(bmc->workarounds, "calvin"))
		return; /* both are written on the command line: no password then */
	if (phx_power_ipmi.check(bmc, &err) < 0) {
		fuzz_never(!err.text[0]);
		return;
	}
	int r = op == PHX_POWER_STATUS
		? phx_power_ipmi.status(bmc, 1000, &state, &err)
		: phx_power_ipmi.order(bmc, (enum phx_power_op)op, 1000, &err);
	fuzz_never(r < 0 && !err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct phx_bmc bmc = {.user = "root"};
	unsigned op = 0;
	char *rest = fuzz_line(text);
	sscanf(text, "%u %15s %d %63s %63s", &op, bmc.tool, &status, bmc.address, bmc.workarounds);
	char *cut = strstr(rest, "\n--\n");
	errout = cut ? cut + 4 : "";
	if (cut)
		cut[1] = '\0';
	out = rest;
	op = PHX_POWER_ON + op % PHX_POWER_BOOT_DISK;
	ask(&bmc, op); /* without a password */
	const char *path = fuzz_file("secret", op & 1 ? "cal#vin\n" : "calvin\n", op & 1 ? 8 : 7);
	fuzz_never(chmod(path, n % 16 ? 0600 : 0644) < 0);
	PHX_STR_SET(bmc.password_file, path);
	ask(&bmc, op);
	phx_power_ipmi.ready(&bmc, NULL);
	read_address(data, n);
	return 0;
}
