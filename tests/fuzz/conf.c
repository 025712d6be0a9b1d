/* phoenix.conf, and behind a line "=== conf.d" a file that overrides it. What is taken can be
 * shown, and its addresses are of its network.
 * Parsers: lib/config/conf.c lib/config/confscan.c lib/config/config.c */
#include "config/config.h"
#include "config/conf.h"
#include "fuzz/fuzz.h"

static void check(const struct phx_config *cfg)
{
	struct phx_list lines = {0};
	struct phx_settings settings;
	fuzz_never(phx_config_show(cfg, &lines) < 0 || lines.n < PHX_OPT_COUNT_);
	phx_list_fini(&lines);
	phx_config_settings(cfg, &settings);
	/* a beat that is a little late is no silence, however short balance_after_ms is */
	fuzz_never(phx_config_quiet_ms(cfg) <= cfg->heartbeat_ms);
	fuzz_never(phx_config_quiet_ms(cfg) + settings.balance_rest_ms < cfg->balance_after_ms);
	fuzz_never(cfg->missing_after_ms < 2 * cfg->heartbeat_ms);
	fuzz_never(phx_config_check_ip(cfg, cfg->address, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char mark[] = "=== conf.d\n";
	static bool made;
	const uint8_t *cut = memmem(data, n, mark, strlen(mark));
	size_t first = cut ? (size_t)(cut - data) : n, skip = cut ? strlen(mark) : 0;
	struct phx_config cfg;
	struct phx_err err = {0};
	PHX_AUTO_FREE char *dir = phx_path("%s/conf.d", fuzz_dir());
	fuzz_never(!dir || (!made && phx_dir_make(dir, 0755, NULL) < 0));
	made = true;
	fuzz_file("conf.d/a.conf", data + first + skip, n - first - skip);
	if (phx_config_load(fuzz_file("phoenix.conf", data, first), &cfg, &err) == 0) {
		check(&cfg);
		phx_config_fini(&cfg);
	} else {
		fuzz_never(!err.text[0]);
	}
	return 0;
}
