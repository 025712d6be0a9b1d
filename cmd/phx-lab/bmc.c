/* A virtual BMC a machine: OpenIPMI's ipmi_sim, which answers IPMI on the
 * machine's BMC address and calls `phx-lab bmc` to act. Called by main.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "phx-lab/lab.h"

enum { IPMI_PORT = 623, SERIAL_PORT = 9000, PASSWORD_BYTES = 8, PASSWORD_MAX = 64, STOP_MS = 2000 };

/* ---- the password ---- */

char *lab_bmc_password_path(const struct lab *lab)
{
	return phx_path("%s/etc/bmc.password", lab->dir);
}

int lab_bmc_password_make(const struct lab *lab, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = lab_bmc_password_path(lab);
	uint8_t raw[PASSWORD_BYTES];
	char text[2 * PASSWORD_BYTES + 2];
	if (!path)
		return -ENOMEM;
	if (access(path, F_OK) == 0)
		return 0;
	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return phx_err_set(err, -errno, "no random bytes: %s", strerror(errno));
	phx_hex(raw, sizeof(raw), text);
	strcat(text, "\n");
	return phx_file_write(path, text, strlen(text), 0600, err);
}

static int password_read(const struct lab *lab, char **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = lab_bmc_password_path(lab);
	size_t n;
	int r = path ? phx_file_read(path, PASSWORD_MAX, ret, &n, err) : -ENOMEM;
	if (r == 0)
		(*ret)[strcspn(*ret, "\n")] = '\0';
	return r;
}

/* ---- ipmi_sim ---- */

static int write_lan_conf(const struct lab *lab, const struct lab_machine *m, const char *path,
			  struct phx_err *err)
{
	PHX_AUTO_FREE char *password = NULL;
	PHX_AUTO_FREE char *self = phx_run_beside("phx-lab");
	int r = self ? password_read(lab, &password, err) : -errno;
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *text =
		phx_path("name \"%s\"\n"
			 "set_working_mc 0x20\n"
			 "  startlan 1\n"
			 "    addr %s %d\n"
			 "    priv_limit admin\n"
			 "    allowed_auths_admin md5\n"
			 "    guid \"%.15s\"\n"
			 "    lan_config_program \"%s bmc %s %s\"\n"
			 "  endlan\n"
			 "  chassis_control \"%s bmc %s %s\"\n"
			 "  serial kcs 127.0.0.1 %u codec VM\n"
			 "  startnow false\n"
			 "  user 1 false \"\" \"\" user 10 none\n"
			 "  user 2 true \"" LAB_BMC_USER "\" \"%s\" admin 10 md5\n",
			 m->name, m->bmc_ip, IPMI_PORT, m->name, self, lab->dir, m->name, self,
			 lab->dir, m->name, SERIAL_PORT + m->index, password);
	r = text ? phx_file_write(path, text, strlen(text), 0600, err) : -ENOMEM;
	if (text)
		explicit_bzero(text, strlen(text));
	explicit_bzero(password, strlen(password));
	return r;
}

/* One management controller, with nothing but a chassis. */
static int write_emulation(const char *path, struct phx_err *err)
{
	static const char text[] = "mc_setbmc 0x20\n"
				   "mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\n"
				   "sel_enable 0x20 100 0x0a\n"
				   "mc_enable 0x20\n";
	return phx_file_write(path, text, sizeof(text) - 1, 0644, err);
}

static int start(const struct lab *lab, const struct lab_machine *m, const char *dir,
		 struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8];
	PHX_AUTO_FREE char *lan = phx_path("%s/lan.conf", dir);
	PHX_AUTO_FREE char *emu = phx_path("%s/bmc.emu", dir);
	PHX_AUTO_FREE char *pid = phx_path("%s/bmc.pid", dir);
	PHX_AUTO_FREE char *log = phx_path("%s/bmc.log", dir);
	if (!lan || !emu || !pid || !log)
		return -ENOMEM;
	int r = write_lan_conf(lab, m, lan, err);
	if (r == 0)
		r = write_emulation(emu, err);
	if (r < 0)
		return r;
	const char *const argv[] = {"ipmi_sim", "-c", lan, "-f", emu, "-s", dir, "-n", NULL};
	const struct lab_program p = {.argv = argv,
				      .netns = lab_netns(lab, ns),
				      .pid_file = pid,
				      .log_file = log,
				      .work_dir = dir};
	return lab_start(&p, err);
}

bool lab_bmc_runs(const struct lab *lab, const struct lab_machine *m)
{
	PHX_AUTO_FREE char *pid = lab_machine_path(lab, m, "bmc.pid");
	return pid && phx_process_noted(pid);
}

int lab_bmc_start(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = lab_machine_path(lab, m, "bmc");
	PHX_AUTO_FREE char *machine = lab_machine_path(lab, m, "");
	if (!dir || !machine)
		return -ENOMEM;
	if (!m->bmc || lab_bmc_runs(lab, m))
		return 0;
	machine[strlen(machine) - 1] = '\0';
	return start(lab, m, machine, err);
}

int lab_bmc_stop(const struct lab *lab, const struct lab_machine *m, struct phx_err *err)
{
	PHX_AUTO_FREE char *pid = lab_machine_path(lab, m, "bmc.pid");
	return pid ? phx_process_end_noted(pid, false, STOP_MS, err) : -ENOMEM;
}

/* ---- what ipmi_sim asks for ---- */

static int get_power(const struct lab *lab, const struct lab_machine *m, const char *value,
		     struct phx_err *err)
{
	(void)value, (void)err;
	printf("power:%d\n", lab_machine_is_on(lab, m));
	return 0;
}

static int get_boot(const struct lab *lab, const struct lab_machine *m, const char *value,
		    struct phx_err *err)
{
	char device[16];
	(void)value, (void)err;
	lab_machine_boot_get(lab, m, device);
	printf("boot:%s\n", device);
	return 0;
}

static int set_power(const struct lab *lab, const struct lab_machine *m, const char *value,
		     struct phx_err *err)
{
	return strcmp(value, "0") ? lab_machine_on(lab, m, err) : lab_machine_off(lab, m, err);
}

/* A new process: the boot device is chosen when QEMU starts. */
static int set_reset(const struct lab *lab, const struct lab_machine *m, const char *value,
		     struct phx_err *err)
{
	(void)value;
	if (!lab_machine_is_on(lab, m))
		return 0;
	int r = lab_machine_off(lab, m, err);
	return r < 0 ? r : lab_machine_on(lab, m, err);
}

static int set_boot(const struct lab *lab, const struct lab_machine *m, const char *value,
		    struct phx_err *err)
{
	return lab_machine_boot_set(lab, m, value, err);
}

static int set_shutdown(const struct lab *lab, const struct lab_machine *m, const char *value,
			struct phx_err *err)
{
	(void)value;
	return lab_machine_button(lab, m, err);
}

/* What the machine's own system is told of its BMC. */
static int get_address(const struct lab *lab, const struct lab_machine *m, const char *value,
		       struct phx_err *err)
{
	(void)lab, (void)value, (void)err;
	printf("ip_addr:%s\n", m->bmc_ip);
	return 0;
}

static const struct chassis_key {
	const char *key;
	int (*get)(const struct lab *lab, const struct lab_machine *m, const char *value,
		   struct phx_err *err);
	int (*set)(const struct lab *lab, const struct lab_machine *m, const char *value,
		   struct phx_err *err);
} chassis_keys[] = {
	{"power", get_power, set_power}, {"boot", get_boot, set_boot},
	{"reset", NULL, set_reset},      {"shutdown", NULL, set_shutdown},
	{"ip_addr", get_address, NULL},
};

static const struct chassis_key *find_key(const char *key)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(chassis_keys); i++)
		if (!strcmp(chassis_keys[i].key, key))
			return &chassis_keys[i];
	return NULL;
}

/* "get KEY...", "set KEY VALUE [KEY VALUE...]", "check KEY" (is it there?) */
int lab_bmc_chassis(const struct lab *lab, const struct lab_machine *m, int n_words, char **words)
{
	struct phx_err err = {0};
	const char *op = n_words > 0 ? words[0] : "";
	bool set = !strcmp(op, "set");
	int r = 0;
	for (int i = 1; r == 0 && i < n_words; i += set ? 2 : 1) {
		const struct chassis_key *k = find_key(words[i]);
		if (!k)
			r = phx_err_set(&err, -EOPNOTSUPP, "%s: no such thing", words[i]);
		else if (set)
			r = i + 1 < n_words ? k->set(lab, m, words[i + 1], &err) : -EINVAL;
		else if (!strcmp(op, "get"))
			r = k->get ? k->get(lab, m, NULL, &err) : -EOPNOTSUPP;
	}
	if (r < 0)
		fprintf(stderr, "phx lab bmc %s: %s\n", m->name,
			err.text[0] ? err.text : strerror(-r));
	return r < 0;
}
