/* What PAM is asked, and what of its answer is told: real modules, by a description of the service
 * of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "door/door.h"

static char dir[] = "/tmp/phx-pam.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	char path[64];
	snprintf(path, sizeof(path), "%s/phoenix", dir);
	unlink(path);
	return rmdir(dir);
}

static enum phx_door_said said_to(const char *name, const char *service,
				  char ret[PHX_DOOR_NAME_MAX])
{
	const struct phx_door_who who = {name, "secret", "192.0.2.1"};
	char path[64];
	snprintf(path, sizeof(path), "%s/phoenix", dir);
	assert_int_equal(phx_file_write(path, service, strlen(service), 0600, NULL), 0);
	ret[0] = '\0';
	return phx_pam_check(&who, dir, ret);
}

static void who_is_let_in_has_his_name_from_pam(void **state)
{
	(void)state;
	char name[PHX_DOOR_NAME_MAX];
	assert_int_equal(said_to("daemon",
				 "auth required pam_permit.so\n"
				 "account required pam_permit.so\n",
				 name),
			 PHX_DOOR_IN);
	assert_string_equal(name, "daemon");
}

static void nobody_is_root_by_a_password_whatever_modules_say(void **state)
{
	(void)state;
	char name[PHX_DOOR_NAME_MAX];
	assert_int_equal(said_to("root",
				 "auth required pam_permit.so\n"
				 "account required pam_permit.so\n",
				 name),
			 PHX_DOOR_WRONG);
	assert_string_equal(name, "");
	assert_int_equal(said_to("no-user-of-this-name",
				 "auth required pam_permit.so\n"
				 "account required pam_permit.so\n",
				 name),
			 PHX_DOOR_WRONG);
}

/* Of an account nothing is said before the password was right. */
static void an_account_is_spoken_of_behind_its_password(void **state)
{
	(void)state;
	char name[PHX_DOOR_NAME_MAX];
	assert_int_equal(said_to("daemon",
				 "auth required pam_deny.so\n"
				 "account required pam_deny.so\n",
				 name),
			 PHX_DOOR_WRONG);
	assert_int_equal(said_to("daemon",
				 "auth required pam_permit.so\n"
				 "account required pam_deny.so\n",
				 name),
			 PHX_DOOR_SHUT);
}

/* A wrong password is not made of a module that is not there. */
static void what_cannot_be_asked_is_no_wrong_password(void **state)
{
	(void)state;
	char name[PHX_DOOR_NAME_MAX];
	assert_int_equal(said_to("daemon",
				 "auth required pam_that_is_not_there.so\n"
				 "account required pam_permit.so\n",
				 name),
			 PHX_DOOR_UNABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_let_in_has_his_name_from_pam),
		cmocka_unit_test(nobody_is_root_by_a_password_whatever_modules_say),
		cmocka_unit_test(an_account_is_spoken_of_behind_its_password),
		cmocka_unit_test(what_cannot_be_asked_is_no_wrong_password),
	};
	return cmocka_run_group_tests_name("pam", tests, setup, teardown);
}
