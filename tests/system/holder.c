/* What a director does with a virtual address, without a balancer and without a head: the agent's
 * own code (vip.c), told what a head would tell. Run by director.sh in network namespaces. Reads
 * from its input, a line each:
 *
 *	take	 the head wants the address here
 *	drop	 and elsewhere
 *	heard MS the head was heard just now, and is each MS milliseconds
 *
 * and writes each address that it gives up. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/util.h"
#include "agent/vip.h"

static void say(const char *what, const struct phx_err *err)
{
	printf("%s %s\n", what, err->text);
	fflush(stdout);
}

static void obey(struct vips *v, const char *address, char *line)
{
	static const struct phx_web_table none;
	static const struct phx_web_share all;
	struct phx_err err = {0};
	uint64_t ms;
	line[strcspn(line, "\n")] = '\0';
	if (!strcmp(line, "take") && vip_take(v, address, &err) == 0)
		vip_settled(v);
	else if (!strcmp(line, "drop") && vip_keep_only(v, &none, &all, &err) == 0)
		vip_settled(v);
	else if (!strncmp(line, "heard ", 6) && phx_u64_parse(line + 6, 1, UINT32_MAX, &ms) == 0)
		vip_heard(v, (uint32_t)ms);
	say(err.text[0] ? "failed" : "done", &err);
}

static void turn(void *loop)
{
	loop_run(loop);
}

int main(int argc, char **argv)
{
	char said[160] = "", now[160], line[80];
	struct loop *loop;
	struct vips *v;
	if (argc != 2 || loop_new(&loop, NULL) < 0 || loop_work(loop, turn, loop) < 0 ||
	    vip_new(loop, &v) < 0)
		return 2;
	for (;;) {
		struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
		if (poll(&in, 1, 50) > 0) {
			if (!fgets(line, sizeof(line), stdin))
				break;
			obey(v, argv[1], line);
		}
		vip_note(v, now);
		if (now[0] && strcmp(now, said))
			puts(now);
		fflush(stdout);
		vip_told(v, now); /* and counts when the head has said something since */
		phx_str_copy(said, sizeof(said), now);
	}
	vip_free(v);
	loop_free(loop);
	return 0;
}
