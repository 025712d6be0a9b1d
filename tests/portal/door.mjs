// Signing in with name and password, by real PAM; one's sessions, and how they end; a page that was open while Phoenix was updated.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessible, linkOf, newPage, picture, signIn, walk } from './browser.mjs';

const sh = (words) => execFileSync('bash', ['-c', words], { encoding: 'utf8' });
const door = () => linkOf('daemon').replace(/#.*/, '');
const navigation = (page) => page.getByRole('navigation').waitFor();

async function attempt(page, password) {
	await page.locator('input[name=user]').fill('alice');
	await page.locator('input[name=password]').fill(password);
	await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function withPassword(browser) {
	const page = await newPage(browser);
	await page.goto(door());
	await attempt(page, process.env.PASSWORD);
	await navigation(page);
	return page;
}

export const tests = {
	async 'name and password sign in, and a wrong one is told'(browser) {
		const page = await newPage(browser);
		await page.goto(door());
		await page.getByRole('form', { name: 'With a password' }).waitFor();
		await walk(page);
		await attempt(page, 'wrong');
		await page.getByRole('alert').getByText('name or password is wrong').waitFor();
		assert.equal(await page.locator('input[name=password]').inputValue(), '');
		assert.equal(await page.locator('input[name=user]').inputValue(), 'alice');
		await accessible(page);
		await picture(page, 'door-password');
		await page.locator('input[name=password]').fill(process.env.PASSWORD);
		await page.keyboard.press('Enter');
		await navigation(page);
		await page.goto(`${door()}#/me`);
		await page.locator('#identity').getByText('unix:alice').waitFor();
	},

	async 'the page of oneself lists one\'s sessions, and ends them'(browser) {
		const here = await withPassword(browser);
		const there = await withPassword(browser);
		await here.getByRole('link', { name: 'You' }).click();
		const sessions = here.getByRole('region', { name: 'Sessions' });
		await sessions.getByText('this page').waitFor();
		assert.ok(await sessions.getByText('Chromium on Linux').count() >= 2);
		await accessible(here);
		await walk(here);
		await picture(here, 'sessions');
		const others = await sessions.getByRole('button', { name: 'End it: the session from' }).count();
		await sessions.getByRole('button', { name: 'End it: the session from' }).last().click();
		await here.waitForFunction((n) => document.querySelectorAll('button[aria-label^="End it: the session from"]').length === n - 1, others);
		await there.getByText('Your session has ended').waitFor(); // its stream was cut, and it asked why
		await sessions.getByRole('button', { name: 'End it: this session' }).click();
		await here.getByRole('heading', { name: 'Sign in' }).waitFor();
	},

	async 'a session that is stolen and used from elsewhere is told, and ended by whose it is'(browser) {
		const page = await withPassword(browser);
		const { value } = (await page.context().cookies()).find((c) => c.name === '__Host-phoenix');
		const thief = (path, ...more) => execFileSync('curl', ['-sk', '-o', '/dev/null', '-w', '%{http_code}', '--interface', '127.0.0.77', '-H', `Cookie: __Host-phoenix=${value}`, ...more,
			`https://127.0.0.1:${process.env.HTTPS}${path}`], { encoding: 'utf8' });
		assert.equal(thief('/v1/whoami'), '200');
		assert.equal(thief('/v1/jobs', '-d', '{"argv": ["stolen"]}'), '403'); // he has not the token of the page
		const mine = await withPassword(browser);
		await mine.getByRole('link', { name: 'You' }).click();
		const row = mine.getByRole('region', { name: 'Sessions' }).getByRole('row').filter({ hasText: 'used from 127.0.0.77' });
		await row.waitFor();
		await accessible(mine);
		await picture(mine, 'session-stolen');
		await row.getByRole('button').click();
		await row.waitFor({ state: 'detached' });
		assert.equal(thief('/v1/whoami'), '401');
		await page.getByText('Your session has ended').waitFor();
		await navigation(mine);
	},

	async 'a browser that goes away is no reader any more'(browser) {
		const count = () => Number(sh('ss -Htn state established "( sport = :$HTTPS )" | wc -l'));
		const page = await signIn(browser, 'root');
		await page.getByRole('status').getByText('node').waitFor();
		const before = count();
		await page.context().close();
		for (let i = 0; i < 50 && count() >= before; i++)
			await new Promise((go) => setTimeout(go, 100));
		assert.ok(count() < before, 'its connections stay');
	},

	async 'after five wrong ones a person is told how long to wait'(browser) {
		const page = await newPage(browser);
		await page.goto(door());
		await page.getByRole('form', { name: 'With a password' }).waitFor();
		for (let i = 0; i < 5; i++) {
			await attempt(page, 'wrong');
			await page.getByRole('alert').waitFor();
			if (await page.getByRole('button', { name: /^Wait \d+ s$/ }).count())
				break;
			await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
		}
		if (!await page.getByRole('button', { name: /^Wait \d+ s$/ }).count())
			await attempt(page, 'wrong');
		await page.getByRole('alert').getByText('too many wrong passwords').waitFor();
		assert.ok(await page.getByRole('button', { name: /^Wait \d+ s$/ }).isDisabled());
		await accessible(page);
		await picture(page, 'door-wait');
		await page.getByText('phx portal', { exact: false }).first().waitFor();
	},

	async 'a page of before an update says so, loads the new one, and keeps what was typed'(browser) {
		const old = await signIn(browser, 'daemon');
		const writes = async () => {
			await old.getByRole('link', { name: 'Jobs' }).click();
			await old.getByRole('button', { name: 'Submit a job' }).click();
			return old.getByLabel('Program');
		};
		await (await writes()).fill('#!/bin/sh\necho kept\n');
		await old.getByLabel('Nodes').fill('3');
		sh(`cd "$PORTAL_WORK/portal" && app=$(ls app-*.js) && mv "$app" app-0000000000000000.js && rm -f ./*.gz && sed -i "s/$app/app-0000000000000000.js/" index.html
			kill -TERM -- "$HEAD_PID"; while kill -0 "$HEAD_PID" 2>/dev/null; do sleep 0.1; done
			setsid "$BUILD/bin/phxd" -c "$PHX_CONFIG" >>"$PORTAL_WORK/again.log" 2>&1 & echo $! >"$PORTAL_WORK/again.pid"`);
		await old.getByText('The head was started again').waitFor({ timeout: 60000 });
		const fresh = await old.context().newPage();
		await fresh.goto(linkOf('daemon'));
		await fresh.getByRole('button', { name: 'Sign in as unix:daemon' }).click();
		await navigation(fresh);
		assert.equal(await fresh.getByText('newer pages').count(), 0);
		await old.getByRole('button', { name: 'look again' }).click();
		await navigation(old);
		await old.getByRole('alert').getByText('newer pages').waitFor();
		await accessible(old);
		await picture(old, 'outdated');
		await old.getByRole('button', { name: 'Load the new pages' }).click();
		await old.waitForFunction(() => document.querySelector('script').src.endsWith('app-0000000000000000.js'));
		await navigation(old);
		assert.equal(await (await writes()).inputValue(), '#!/bin/sh\necho kept\n');
		assert.equal(await old.getByLabel('Nodes').inputValue(), '3');
		await old.getByRole('button', { name: 'Leave it' }).click();
		assert.equal(await (await writes()).inputValue(), '#!/bin/sh\n'); // left: it is kept no longer
		assert.equal(await old.getByText('newer pages').count(), 0);
	},
};
