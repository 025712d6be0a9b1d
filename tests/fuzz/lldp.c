/* A frame in which a switch says who it is. What is taken has a name, and every text is one that
 * JSON can have; what is refused leaves the answer as it was.
 * Parsers: lib/inventory/lldp.c */
#include "fuzz/fuzz.h"
#include "inventory/inventory.h"

static void check_text(const char *text)
{
	for (; *text; text++)
		fuzz_never(*text < ' ' || *text > '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_lldp_neighbor heard = {.system = "before"};
	if (phx_lldp_parse(data, n, &heard) < 0) {
		fuzz_never(strcmp(heard.system, "before") != 0);
		return 0;
	}
	fuzz_never(!heard.system[0]);
	check_text(heard.system);
	check_text(heard.port);
	return 0;
}
