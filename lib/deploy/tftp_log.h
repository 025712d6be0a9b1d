/* What is written of files that machines ask for by TFTP: lines of in.tftpd and of dnsmasq into
 * rows of their starts. Reads no file. A machine chooses the name that it asks for, and nothing
 * else of a line: addresses are taken from where no name stands before them, or from its end, and
 * are checked. */
#ifndef PHX_DEPLOY_TFTP_LOG_H
#define PHX_DEPLOY_TFTP_LOG_H

#include <stddef.h>

#include "base/ip.h"
#include "types/start.h"

/** Longest line of the log of in.tftpd: a name that is asked for has up to 512 bytes, and stands
 * there as it was asked for and as it was looked for. */
enum { PHX_TFTP_LINE_MAX = 1400 };

/** What syslog(3) sends ("<30>Nov 29 12:00:00 in.tftpd[7]: RRQ from ...") as a line of a log:
 * without its number, without what would end a line or steer a terminal, cut to its room. `n`
 * bytes, which need no end. */
void phx_tftp_log_line(const char *said, size_t n, char ret[PHX_TFTP_LINE_MAX]);

/** Of in.tftpd, whose refusals do not name the file: who asked last, by the number of the process
 * that answers, and for what. All zero at first. */
struct phx_tftp_log {
	uint64_t pid;
	char name[128];
};

/** Does the line, as phx_tftp_log_line() makes it, say something of a start? Then `ret_row` has
 * whose (the address that asked), of what kind, and a text, but no time; `bytes` is the errno of
 * what was refused. */
bool phx_tftp_log_take(struct phx_tftp_log *l, const char *line, struct phx_start_row *ret_row);

/** The same of what dnsmasq says behind "dnsmasq-tftp[7]: ". */
bool phx_tftp_log_dnsmasq(const char *text, struct phx_start_row *ret_row);

#endif
