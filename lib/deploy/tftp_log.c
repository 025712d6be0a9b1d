/* Lines of TFTP servers into rows of starts: see tftp_log.h. in.tftpd of tftp-hpa 5.2, told twice
 * to be verbose:
 *
 *	Nov 29 12:00:00 in.tftpd[7]: RRQ from 10.99.0.12 filename undionly.kpxe
 *	Nov 29 12:00:00 in.tftpd[7]: sending NAK (1, File not found) to 10.99.0.12
 *	Nov 29 12:00:00 in.tftpd[7]: Client 10.99.0.12 finished undionly.kpxe
 *
 * The last is of later versions; 5.2 says nothing where a transfer has ended, well or not. */
#include "deploy/tftp_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64, STAMP = 16 /* "Nov 29 12:00:00 " */ };

/* Takes what stands before `end`, if it is an address. */
static bool take_address(const char **at, const char *end, char ret[PHX_IPV4_MAX])
{
	char word[WORD_MAX];
	uint32_t ip;
	size_t n = *end ? strcspn(*at, end) : strlen(*at);
	if (!n || n >= sizeof(word) || (*end && !(*at)[n]))
		return false;
	memcpy(word, *at, n);
	word[n] = '\0';
	if (!phx_ipv4_parse(word, &ip) || phx_str_copy(ret, PHX_IPV4_MAX, word) < 0)
		return false;
	*at += n;
	return true;
}

/* The address behind the last `before`, at the end of the line. */
static bool find_address(const char *text, const char *before, char ret[PHX_IPV4_MAX])
{
	char word[WORD_MAX];
	const char *at = NULL;
	for (const char *p = text; (p = strstr(p, before)); p++)
		at = p + strlen(before);
	if (!at || phx_str_copy(word, sizeof(word), at) < 0)
		return false;
	word[strcspn(word, " \r\n")] = '\0';
	at = word;
	return take_address(&at, "", ret);
}

static void set(struct phx_start_row *row, enum phx_start_kind kind, const char *address,
		const char *text, int code)
{
	*row = (struct phx_start_row){.kind = (int)kind, .proven = true, .bytes = (uint64_t)code};
	PHX_STR_SET(row->node, address);
	phx_start_clean(row->text, sizeof(row->text), text);
}

/* ---- dnsmasq ---- */

bool phx_tftp_log_dnsmasq(const char *text, struct phx_start_row *ret_row)
{
	static const struct {
		const char *begins, *before;
		enum phx_start_kind kind;
		int code;
	} lines[] = {
		{"sent ", " to ", PHX_START_tftp_sent, 0},
		{"failed sending ", " to ", PHX_START_tftp_failed, 0},
		{"file ", " not found for ", PHX_START_tftp_failed, ENOENT},
		{"error ", " received from ", PHX_START_tftp_failed, 0},
	};
	char address[PHX_IPV4_MAX];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lines); i++) {
		if (!phx_str_starts(text, lines[i].begins) ||
		    !find_address(text, lines[i].before, address))
			continue;
		set(ret_row, lines[i].kind, address, text, lines[i].code);
		return true;
	}
	return false;
}

/* ---- in.tftpd ---- */

void phx_tftp_log_line(const char *said, size_t n, char ret[PHX_TFTP_LINE_MAX])
{
	char raw[PHX_TFTP_LINE_MAX + WORD_MAX];
	n = n < sizeof(raw) ? n : sizeof(raw) - 1;
	for (size_t i = 0; i < n; i++)
		raw[i] = said[i] ? said[i] : ' ';
	raw[n] = '\0';
	const char *text = raw, *end = strchr(raw, '>');
	if (raw[0] == '<' && end && strspn(raw + 1, "0123456789") == (size_t)(end - raw - 1))
		text = end + 1;
	phx_start_clean(ret, PHX_TFTP_LINE_MAX, text);
	for (size_t left = strlen(ret); left && ret[left - 1] == ' ';)
		ret[--left] = '\0';
}

/* "RRQ from ADDRESS filename NAME[ remapped to PATH]" */
static bool take_asked(struct phx_tftp_log *l, uint64_t pid, const char *at,
		       struct phx_start_row *ret)
{
	static const char filename[] = " filename ", remapped[] = " remapped to /proc/self/cwd/";
	char address[PHX_IPV4_MAX], name[PHX_START_TEXT_MAX];
	const char *end = NULL;
	if (!take_address(&at, " ", address) || !phx_str_starts(at, filename))
		return false;
	at += strlen(filename);
	for (const char *p = at; (p = strstr(p, remapped)); p++)
		end = p;
	snprintf(name, sizeof(name), "%.*s", (int)(end ? (size_t)(end - at) : strlen(at)), at);
	set(ret, PHX_START_tftp_asked, address, name, 0);
	l->pid = pid;
	snprintf(l->name, sizeof(l->name), "%s", ret->text);
	return true;
}

/* "Client ADDRESS finished NAME", "Client ADDRESS File not found NAME" */
static bool take_client(struct phx_tftp_log *l, uint64_t pid, const char *at,
			struct phx_start_row *ret)
{
	(void)l, (void)pid;
	static const char finished[] = " finished ", none[] = " File not found ";
	char address[PHX_IPV4_MAX], text[PHX_START_TEXT_MAX];
	if (!take_address(&at, " ", address))
		return false;
	if (phx_str_starts(at, finished)) {
		set(ret, PHX_START_tftp_sent, address, at + strlen(finished), 0);
		return true;
	}
	if (!phx_str_starts(at, none))
		return false;
	snprintf(text, sizeof(text), "%.380s: not found", at + strlen(none));
	set(ret, PHX_START_tftp_failed, address, text, ENOENT);
	return true;
}

/* "sending NAK (CODE, TEXT) to ADDRESS": of what TFTP knows, not found and no access. Where a
 * machine asks for what the server does not know it asks again without. */
static bool take_refused(struct phx_tftp_log *l, uint64_t pid, const char *at,
			 struct phx_start_row *ret)
{
	char address[PHX_IPV4_MAX], text[PHX_START_TEXT_MAX];
	const char *from = strchr(at, ' '), *end = strrchr(at, ')');
	const char *of = pid == l->pid ? l->name : "";
	if (!from || !end || from >= end || !find_address(at, ") to ", address))
		return false;
	snprintf(text, sizeof(text), "%s%s%.*s", of, of[0] ? ": " : "", (int)(end - from - 1),
		 from + 1);
	set(ret, PHX_START_tftp_failed, address, text,
	    phx_str_starts(at, "(1, ")           ? ENOENT
		    : phx_str_starts(at, "(2, ") ? EACCES
						 : 0);
	return true;
}

bool phx_tftp_log_take(struct phx_tftp_log *l, const char *line, struct phx_start_row *ret_row)
{
	static const struct {
		const char *begins;
		bool (*take)(struct phx_tftp_log *l, uint64_t pid, const char *at,
			     struct phx_start_row *ret);
	} lines[] = {
		{"RRQ from ", take_asked},
		{"Client ", take_client},
		{"sending NAK ", take_refused},
	};
	if (strnlen(line, STAMP) < STAMP)
		return false;
	/* NAME[PID]: */
	const char *at = line + STAMP + strcspn(line + STAMP, " [");
	size_t n = *at == '[' ? strspn(at + 1, "0123456789") : 0;
	if (!n || !phx_str_starts(at + 1 + n, "]: "))
		return false;
	uint64_t pid = strtoull(at + 1, NULL, 10);
	at += 1 + n + strlen("]: ");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lines); i++)
		if (phx_str_starts(at, lines[i].begins))
			return lines[i].take(l, pid, at + strlen(lines[i].begins), ret_row);
	return false;
}
