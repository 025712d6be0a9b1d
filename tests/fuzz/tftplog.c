/* What TFTP servers say, in which stands what machines ask for: in.tftpd by syslog(3), whose
 * messages become lines, and dnsmasq. A line has no end of a line in it and nothing that steers a
 * terminal; what is taken is a row of an address, of a known kind, with no control character.
 * Parsers: lib/deploy/tftp_log.c */
#include "deploy/tftp_log.h"
#include "fuzz/fuzz.h"

#include <string.h>

static void check(const struct phx_start_row *row)
{
	uint32_t ip;
	fuzz_never(row->kind != PHX_START_tftp_asked && row->kind != PHX_START_tftp_sent &&
		   row->kind != PHX_START_tftp_failed);
	fuzz_never(!phx_ipv4_parse(row->node, &ip));
	for (const char *p = row->text; *p; p++)
		fuzz_never((unsigned char)*p < ' ' || *p == 0x7f);
}

/* A message on each line; and all of it as one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_tftp_log log = {0};
	struct phx_start_row row;
	char line[PHX_TFTP_LINE_MAX];
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	char *rest = text;
	phx_tftp_log_line((const char *)data, n, line);
	for (char *said; (said = strsep(&rest, "\n"));) {
		phx_tftp_log_line(said, strlen(said), line);
		for (const char *p = line; *p; p++)
			fuzz_never((unsigned char)*p < ' ' || *p == 0x7f);
		if (phx_tftp_log_take(&log, line, &row) || phx_tftp_log_dnsmasq(line, &row))
			check(&row);
	}
	return 0;
}
