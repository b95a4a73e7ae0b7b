// Queries can be taken along only from a project over the same corpus: the box waits until such a one is chosen.
const source = document.querySelector("#id_settings_of");
const box = document.querySelector("[name=with_queries]");

const offer = () => {
  box.disabled = !source.selectedOptions[0].hasAttribute("data-same");
  if (box.disabled) box.checked = false;
};

source.addEventListener("change", offer);
offer();
