// Runs one file of tests in Chromium: `node run.mjs FILE`; a line "ok NAME" or "not ok NAME" each, exit status 1 when one is not ok.
import { resolve } from 'node:path';
import { launch } from './browser.mjs';

const { tests } = await import(resolve(process.argv[2]));
const LIMIT_MS = 120_000;
const browser = await launch();
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
	let timer;
	const late = new Promise((_, refuse) => {
		timer = setTimeout(() => refuse(new Error(`not done after ${LIMIT_MS / 1000} s`)), LIMIT_MS);
	});
	try {
		await Promise.race([test(browser), late]);
		console.log(`ok portal ${name}`);
	} catch (error) {
		failed = 1;
		console.log(`not ok portal ${name}\n${String(error?.stack ?? error).replace(/^/gm, '# ')}`);
	} finally {
		clearTimeout(timer);
		for (const context of browser.contexts())
			await context.close();
	}
}
await browser.close();
process.exit(failed);
