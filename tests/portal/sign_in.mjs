// Who comes in, and who does not; what a page says when its session has ended, or the head was started anew under it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessible, linkOf, newPage, picture, signIn, walk } from './browser.mjs';

const sh = (words) => execFileSync('bash', ['-c', words], { stdio: 'ignore' });
const door = () => linkOf('daemon').replace(/#.*/, '');

export const tests = {
	async 'a link shows whose it is, signs in, and leaves nothing in the address'(browser) {
		const page = await newPage(browser);
		const link = linkOf('root');
		await page.goto(link);
		await page.getByText('unix:root').first().waitFor();
		assert.ok(!page.url().includes('link='), page.url());
		await accessible(page);
		await picture(page, 'link');
		await page.keyboard.press('Enter'); // the button has the focus
		await page.getByRole('navigation').waitFor();
		await page.goto(`${link.replace(/#.*/, '')}#/me`);
		await page.locator('#identity').getByText('unix:root').waitFor();
		await page.getByRole('cell', { name: 'root of the head' }).waitFor();
		await accessible(page);
		assert.ok((await walk(page)).includes('Sign out'));
		await picture(page, 'me');
		assert.equal(await page.evaluate(() => document.cookie), '');
		assert.deepEqual(page.wrong, []);
	},

	async 'a link is good once: back and reload do not need it, another browser gets nothing'(browser) {
		const link = linkOf('daemon');
		const page = await newPage(browser);
		await page.goto(link);
		await page.getByRole('button', { name: 'Sign in as' }).click();
		await page.getByRole('navigation').waitFor();
		await page.reload();
		await page.getByRole('navigation').waitFor();
		const other = await newPage(browser);
		await other.goto(link);
		await other.getByText('used, or older than a minute').waitFor();
		assert.equal(await other.getByRole('navigation').count(), 0);
	},

	async 'who is not signed in is told how to come in'(browser) {
		const page = await newPage(browser);
		await page.goto(door());
		await page.getByText('phx portal').waitFor();
		await accessible(page);
		await walk(page);
		await picture(page, 'door');
		assert.deepEqual(page.wrong, []);
	},

	async 'who signs out is out, with a way back'(browser) {
		const page = await signIn(browser, 'daemon');
		await page.getByRole('button', { name: 'Sign out' }).click();
		await page.getByText('You are signed out').waitFor();
		await page.reload();
		await page.getByText('phx portal').waitFor();
	},

	async 'sign-out on the head ends what is open'(browser) {
		const page = await signIn(browser, 'daemon');
		sh('setpriv --reuid=daemon --regid=daemon --init-groups "$BUILD/bin/phx" portal --sign-out');
		await page.evaluate(() => fetch('/v1/whoami').then((a) => { if (a.status !== 401) throw new Error(a.status); }));
		await page.reload();
		await page.getByText('phx portal').waitFor();
	},

	async 'an address that is none leads to the first page'(browser) {
		const page = await signIn(browser, 'root');
		for (const wrong of ['#/%', '#/%zz', '#//']) {
			await page.goto(page.url().replace(/#.*/, '') + wrong);
			await page.reload();
			await page.getByRole('heading', { name: 'Cluster' }).waitFor();
		}
		assert.deepEqual(page.wrong, []);
	},

	async 'no script but the portal\'s own runs in its pages'(browser) {
		const page = await signIn(browser, 'daemon');
		const ran = await page.evaluate(async () => {
			const script = document.createElement('script');
			script.textContent = 'globalThis.ran = true';
			document.body.append(script);
			const away = await fetch('https://127.0.0.1:1/').then(() => 'asked', () => 'refused');
			return [globalThis.ran ?? false, away];
		});
		assert.deepEqual(ran, [false, 'refused']);
		assert.ok(page.wrong.some((w) => w.includes('Content Security Policy')), page.wrong.join());
	},
};
