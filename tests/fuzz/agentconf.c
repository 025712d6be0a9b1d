/* agent.conf, and the kernel command line of the deploy initramfs.
 * Parsers: lib/agent/config.c */
#include "agent/config.h"
#include "fuzz/fuzz.h"

/* Through the program's options, too: the file, then the command line below a root of its own. */
static void begin(const char *path)
{
	char *argv[] = {"phx-agent", "--root",     (char *)fuzz_dir(),
			"--config",  (char *)path, "--boot-id",
			"0-1",       NULL};
	char *deploy[] = {"phx-agent", "--deploy", "--fact-root", (char *)fuzz_dir(), NULL};
	struct agent_config c;
	struct phx_err err = {0};
	if (agent_config_init(7, argv, &c, &err) == 0)
		fuzz_never(!c.server[0] || !c.state_dir[0] || c.whole_machine);
	else
		fuzz_never(!err.text[0]);
	if (agent_config_init(4, deploy, &c, NULL) == 0)
		fuzz_never(!c.server[0] || !c.deploy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	PHX_AUTO_FREE char *proc = phx_path("%s/proc", fuzz_dir());
	PHX_AUTO_FREE char *path = NULL;
	struct agent_config c = {0};
	struct phx_err err = {0};
	fuzz_never(!proc || phx_dir_make(proc, 0755, NULL) < 0);
	fuzz_file("proc/cmdline", data, n);
	path = strdup(fuzz_file("agent.conf", data, n));
	if (agent_config_read(&c, path, &err) < 0)
		fuzz_never(!err.text[0]);
	c = (struct agent_config){0};
	err = (struct phx_err){0};
	if (agent_config_cmdline(&c, text, &err) < 0)
		fuzz_never(!err.text[0]);
	begin(path);
	return 0;
}
