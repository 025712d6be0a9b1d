/* Whoever has the disk of the head takes the hashes of proofs of erases away, or puts proofs in
 * that have none: the audit tells, and leaves alone those that never had one. */
#include "unit/store/audited.h"

/* An event that made an erase record. */
static void erased(uint64_t seq)
{
	char actions[96];
	struct phx_store_erasure e = {seq + 1000, "n1", "{\"record\":1}", "aabb"};
	snprintf(actions, sizeof(actions),
		 "[{\"kind\":\"erased\",\"step_id\":%llu,\"node\":\"n1\"}]",
		 (unsigned long long)seq + 1000);
	assert_int_equal(
		append_one(store, seq, 1000000, "step_result", "n1", "{}", actions, &e, &err), 0);
}

/* Who takes a row's hash away could write into it what he likes: only rows of before lack it. */
static void proofs_without_their_hash_are_told(void **state)
{
	static const struct {
		const char *sql, *why;
	} rows[] = {
		{"INSERT INTO erasures VALUES(5,'n1','{}','aa',NULL)", "step 5 has no hash"},
		{"DELETE FROM erasures WHERE step_id=5;"
		 "UPDATE erasures SET record='{}',hash=NULL WHERE step_id=1002",
		 "step 1002 "},
		{"UPDATE erasures SET hash=NULL", "step 1001 "},
	};
	(void)state;
	erased(1);
	erased(2);
	is_good(path);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		meddle(rows[i].sql);
		is_found(path, PHX_AUDIT_ROW, rows[i].why);
	}
}

static void an_attestation_never_lacks_its_hash(void **state)
{
	(void)state;
	append(1, 5, 1000);
	meddle("INSERT INTO attestations VALUES(7,1000,'n1','a','b','{}',NULL)");
	is_found(path, PHX_AUDIT_ROW, "attestation 7 has no hash");
}

/* In a journal of before chains rows lack their hashes, and those that come later do not. */
static void proofs_of_before_have_none(void **state)
{
	(void)state;
	erased(1);
	erased(2);
	meddle("DELETE FROM chain; UPDATE events SET hash=NULL; UPDATE erasures SET hash=NULL;"
	       "INSERT INTO erasures VALUES(5,'n1','{}','aa',NULL)");
	open_store();
	assert_int_equal(phx_store_seal(store, PHX_ANCHOR_BEGUN, &err), 1);
	is_good(path);
	erased(3);
	erased(4);
	is_good(path);
	meddle("UPDATE erasures SET hash=NULL WHERE step_id=1004");
	is_found(path, PHX_AUDIT_ROW, "step 1004 ");
	meddle("UPDATE erasures SET hash=x'00' WHERE step_id=1004");
	is_found(path, PHX_AUDIT_ROW, "step 1004 is not as it was written");
}

/* A step that ended after a journal was adopted may have a smaller number than one before. */
static void an_earlier_step_may_end_later(void **state)
{
	(void)state;
	append(1, 1, 1000);
	erased(2);
	meddle("DELETE FROM chain; UPDATE erasures SET step_id=2000,hash=NULL; UPDATE events SET "
	       "hash=NULL,actions=replace(actions,'1002','2000')");
	open_store();
	assert_int_equal(phx_store_seal(store, PHX_ANCHOR_BEGUN, &err), 1);
	erased(3);
	is_good(path);
}

static void one_that_was_accepted_has_none_up_to_there(void **state)
{
	(void)state;
	erased(1);
	append(2, 50, 1000);
	accept();
	append(51, 60, 1000);
	erased(61);
	is_good(path);
	meddle("UPDATE erasures SET hash=NULL");
	is_found(path, PHX_AUDIT_ROW, "step 1061 ");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(proofs_without_their_hash_are_told),
		TEST(an_attestation_never_lacks_its_hash),
		TEST(proofs_of_before_have_none),
		TEST(an_earlier_step_may_end_later),
		TEST(one_that_was_accepted_has_none_up_to_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
