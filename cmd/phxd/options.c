/* Options of phxd's command line. */
#include "phxd/options.h"

#include <getopt.h>
#include <stdio.h>

#include "config/config.h"
#include "phxd/daemon.h"

static void usage(FILE *to)
{
	fprintf(to,
		"usage: phxd [-c FILE] [--check | --new-journal | --accept-journal | "
		"--accept-clock] [--rights] [--version]\n"
		"  -c, --config FILE     configuration (default %s)\n"
		"      --check           read the configuration, say what is wrong or not there, "
		"and end\n"
		"      --new-journal     begin a new journal where one is missing, and end\n"
		"      --accept-journal  take the journal as it is, whatever is missing in it, and "
		"end\n"
		"      --accept-clock    take the clock as it is, however far it is ahead, and "
		"end\n"
		"      --rights          print which role may ask which route, and end\n",
		PHX_CONFIG_PATH);
}

int options_read(int argc, char **argv, struct options *ret)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"check", no_argument, NULL, CHECK},
		{"new-journal", no_argument, NULL, NEW_JOURNAL},
		{"accept-journal", no_argument, NULL, ACCEPT_JOURNAL},
		{"accept-clock", no_argument, NULL, ACCEPT_CLOCK},
		{"head", no_argument, NULL, 'H'}, /* only the launcher uses it */
		{"rights", no_argument, NULL, 'r'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0}};
	*ret = (struct options){.config = PHX_CONFIG_PATH, .task = SERVE};
	for (int c; (c = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
		if (c == 'c') {
			ret->config = optarg;
		} else if (c == 'H') {
			ret->head = true;
		} else if (c == 'v') {
			return puts("phxd " PHX_VERSION) < 0 ? 1 : OPTIONS_SAID;
		} else if (c == 'r') {
			routes_print();
			return OPTIONS_SAID;
		} else if (c >= CHECK && c <= ACCEPT_CLOCK) {
			ret->task = (enum task)c;
		} else {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? OPTIONS_SAID : EXIT_USAGE_;
		}
	}
	return 0;
}
