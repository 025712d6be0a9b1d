/* The address of this machine's own BMC, asked over the in-band interface by
 * ipmitool: see internal.h. Called by inventory.c; bounded in time, since a
 * BMC that hangs must not delay the report. */
#include <arpa/inet.h>

#include "base/spawn.h"
#include "base/sysfs.h"
#include "inventory/internal.h"

enum { ASK_MS = 8000 };

void phx_bmc_address_parse(const char *output, char ret[64])
{
	char text[64];
	struct in_addr a;
	ret[0] = '\0';
	/* "IP Address Source" begins alike, its separator does not follow */
	if (phx_line_value(output, "IP Address", ':', text, sizeof(text)) < 0)
		return;
	if (inet_pton(AF_INET, text, &a) == 1 && a.s_addr != INADDR_ANY)
		phx_str_copy(ret, 64, text);
}

void phx_inventory_read_bmc(const char *root, struct phx_facts *f)
{
	const char *const argv[] = {"ipmitool", "-I", "open", "lan", "print", NULL};
	struct phx_run_result res;
	if (*root || !phx_sys_has("", "dev/ipmi0"))
		return;
	if (phx_run(&(struct phx_run){.argv = argv, .timeout_ms = ASK_MS}, &res, NULL) < 0)
		return;
	if (res.status == 0)
		phx_bmc_address_parse(res.out, f->bmc_address);
	phx_run_result_fini(&res);
}
