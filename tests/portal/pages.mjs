// Every page there is, for who may see all of them: got to and walked through by the keyboard alone, looked over by axe light and dark, with a
// picture of each. What is only there at times, dialogs and forms above all, its page's own tests look over in the same way (accessible()).
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { accessible, picture, signIn, walk } from './browser.mjs';

const pages = ['Cluster', 'Time-line', 'Jobs', 'Workflows', 'Web services', 'Agreements', 'Audit', 'You'];
const file = (name) => `page-${name.toLowerCase().replaceAll(' ', '-')}`;

async function byKeyboard(page, name) {
	await page.evaluate(() => document.activeElement?.blur());
	for (let i = 0; i < 20; i++) {
		await page.keyboard.press('Tab');
		if (await page.evaluate(() => document.activeElement.closest('nav') && document.activeElement.textContent) === name) {
			await page.keyboard.press('Enter');
			return;
		}
	}
	assert.fail(`the keyboard does not get to the page ${name}`);
}

export const tests = {
	async 'the menu has just these pages'(browser) {
		const page = await signIn(browser, 'root');
		assert.deepEqual(await page.getByRole('navigation').getByRole('link').allTextContents(), pages);
	},

	...Object.fromEntries(pages.map((name) => [`${name}: by keyboard alone, without findings, light and dark`, async (browser) => {
		const page = await signIn(browser, 'root');
		await byKeyboard(page, name);
		await page.waitForFunction((title) => document.title === `${title} · Phoenix`, name);
		await page.getByRole('heading', { level: 1 }).waitFor();
		// the keyboard is where the page begins
		assert.equal(await page.evaluate(() => document.activeElement.tagName), name === 'Cluster' ? 'A' : 'MAIN');
		await page.waitForFunction(() => !/reading …/.test(document.querySelector('main').textContent));
		await walk(page);
		await accessible(page);
		await picture(page, file(name));
		for (const scheme of ['light', 'dark'])
			assert.ok(statSync(join(process.env.BUILD, 'portal', 'pictures', `${file(name)}-${scheme}.png`)).size > 5000);
		assert.deepEqual(page.wrong, []);
	}])),

	// what it takes to do something without a mouse: the form of a job, from the menu to what came of it
	async 'a job is submitted by the keyboard alone'(browser) {
		const page = await signIn(browser, 'daemon');
		await byKeyboard(page, 'Jobs');
		const at = async (name) => {
			for (let i = 0; i < 60; i++) {
				await page.keyboard.press('Tab');
				if (await page.evaluate(() => (document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent).trim()) === name)
					return;
			}
			assert.fail(`the keyboard does not get to ${name}`);
		};
		await at('Submit a job');
		await page.keyboard.press('Enter');
		await at('Name');
		await page.keyboard.type('keys');
		await at('hold it back');
		await page.keyboard.press('Space');
		await page.getByLabel('Program').waitFor();
		await at('Submit');
		await page.keyboard.press('Enter');
		await page.getByRole('complementary').getByText('queued').first().waitFor();
		assert.deepEqual(page.wrong, []);
	},
};
