// What became of a runtime environment, a sentence each, the newest first.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from './api.js';
import { html } from './html.js';
import { moment } from './words.js';

const SHOWN = 100;

// Asks on behind what it has.
async function readOn(name, have, signal) {
	let { rows, last } = have, more = true;
	while (more) {
		const page = await get(`/v1/res/${encodeURIComponent(name)}/history?after=${last}`, { signal, watch: true });
		rows = [...rows, ...page.history].slice(-10000);
		({ last, more } = page);
	}
	return { rows, last };
}

export function History({ name, known }) {
	const have = useRef({ rows: [], last: 0 });
	const [rows, setRows] = useState([]);
	useEffect(() => {
		const abort = new AbortController();
		readOn(name, have.current, abort.signal).then((h) => { have.current = h; setRows(h.rows); }, () => {});
		return () => abort.abort();
	}, [name, known]);
	const shown = rows.slice(-SHOWN).reverse();
	return html`<section aria-label="History"><h3>History</h3>${!rows.length && html`<p class="quiet">Nothing yet.</p>`}
		<ol class="log">${shown.map((r, i) => html`<li key=${`${r.seq}-${i}`}><time>${moment(r.time_ms)}</time> ${r.text}${r.by && html` <span class="quiet">(${r.by})</span>`}</li>`)}</ol>
		${rows.length > SHOWN && html`<p class="quiet">The newest ${SHOWN} of ${rows.length}.</p>`}</section>`;
}
