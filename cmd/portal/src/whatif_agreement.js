// Under an agreement that is written: what its bounds and its policy would have meant last week, by the demand that an RE of its type had then.
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { useOnce } from './once.js';
import { useRes } from './use_res.js';
import { ask, Compared, Progress, Sides, timelineOf, useWhatIf } from './whatif.js';

const WEEK_MS = 7 * 86_400_000;
const NOTHING = { step_ms: 0, quantities: [] };
const titles = ['as it is agreed', 'as it is written here'];

function Answer({ answer }) {
	const there = !answer.agreed.error && !answer.changed.error;
	const sides = there ? ['agreed', 'changed'].map((side, i) => ({ title: titles[i], timeline: timelineOf(answer, side, NOTHING) })) : [];
	return html`<${Compared} answer=${answer} titles=${titles} of="The RE" />
		${there && html`<${Sides} sides=${sides} span=${{ from: answer.from_ms, until: answer.until_ms }} colourOf=${() => 0} />`}`;
}

// agreement: as the head read it, without findings; null: it is not right yet
export function LastWeek({ agreement }) {
	const { all } = useRes();
	const [chosen, setChosen] = useState('');
	const [id, setId] = useState('');
	const [said, setSaid] = useState('');
	const [busy, once] = useOnce();
	const { shown, error } = useWhatIf(id);
	const res = (all?.res ?? []).filter((r) => r.agreement && r.agreement.type === agreement?.type);
	const re = res.find((r) => r.name === chosen) ?? res.find((r) => r.name === agreement?.name) ?? res[0];
	const simulate = () => {
		const now = Date.now();
		once(() => ask({ re: re.name, agreement, from_ms: now - WEEK_MS, until_ms: now }).then((n) => { setSaid(''); setId(n); }, (problem) => setSaid(problem.message)));
	};
	return html`<section class="sheet" aria-label="Last week"><h3>What would it have meant last week?</h3>
		<p class="quiet">The demand of an RE of this type is taken, of the last seven days, and simulated with its own agreement and with this one, on nodes enough for both.</p>
		${!agreement ? html`<p class="notice">Nothing may be wrong with it first.</p>` : !re ? html`<p class="notice">There is no RE of this type whose demand you may know.</p>`
		: html`<p class="controls"><label>The demand of <select value=${re.name} onChange=${(e) => setChosen(e.target.value)}>${res.map((r) => html`<option key=${r.name} value=${r.name}>${r.name}</option>`)}</select></label>
			<button type="button" disabled=${busy} onClick=${simulate}>Simulate last week</button></p>`}
		${(said || error) && html`<p class="trouble" role="alert">${said || error}</p>`}
		${shown && html`<${Progress} question=${shown.question} />`}
		${shown?.answer && html`<${Answer} answer=${shown.answer} />`}</section>`;
}
